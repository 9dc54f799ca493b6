"""The one door to a PostgreSQL server: a connection, asked for again for a while where the server may be back in a moment.

Only connecting is repeated here. What was said over a connection that broke is the database's business, because a statement may have been
carried out. A server that answers and refuses (a wrong password, no such database) and a name nobody knows are told at once.
"""

from __future__ import annotations

import psycopg

from nodusctl.base.clock import Wall
from nodusctl.store import postgres_faults
from nodusctl.store.postgres_channel import PostgresChannel
from nodusctl.store.postgres_place import PostgresPlace

PATIENCE_SECONDS = 20.0
"""How long a server that was there a moment ago is waited for."""
FIRST_PATIENCE_SECONDS = 3.0
"""And one this process hasn't seen yet: as long as a restart takes, not so long that a wrong port keeps a person waiting."""
PAUSE_SECONDS = 0.25


def connected(place: PostgresPlace, wall: Wall, *, was_there: bool) -> PostgresChannel:
    """A connection, ready for transactions. UserError where there is none in time, or never will be."""
    give_up_at = wall.monotonic() + (PATIENCE_SECONDS if was_there else FIRST_PATIENCE_SECONDS)
    while True:
        try:
            return PostgresChannel(place, wall)
        except psycopg.OperationalError as problem:
            if not postgres_faults.may_be_back(problem) or wall.monotonic() >= give_up_at:
                raise postgres_faults.told(place.shown, problem) or problem from None
        wall.sleep(PAUSE_SECONDS)
