"""What a person is told when a PostgreSQL server can't be used: one UserError a cause, each with its way out.

The server's own words are passed on: they name the host, the account and the database, never the password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.urls import HIDDEN
from nodusctl.store.faults import trouble

if TYPE_CHECKING:
    import psycopg

OLDEST = 13
"""The oldest server's major version that tells what became of a transaction as we ask it."""


def driver_missing() -> UserError:
    """The extra isn't installed."""
    return trouble(
        "StateNotUsable",
        "PostgreSQL's driver is not installed.",
        "The state's URL names a PostgreSQL server, and psycopg can't be imported by the Python that runs nodusctl.",
        "Install the extra:\n  pip install 'nodusctl[postgres]'",
        field="state",
    )


def unreachable(shown: str, why: str) -> UserError:
    """No connection, or none any more."""
    same = shown.replace(f":{HIDDEN}@", "@")
    return trouble(
        "StateUnreachable",
        "The state's server can't be reached.",
        f"{shown}: {_sentence(why)}",
        f"Check state: in nodusctl.yaml, the network, and the password in ~/.pgpass; this is the same connection:\n  psql '{same}'",
        field="state",
    )


def outcome_unknown(shown: str, why: str) -> UserError:
    """The connection broke at a commit, and the server could not be asked what became of it."""
    return trouble(
        "StateUnreachable",
        "The state's server was lost in the middle of a commit.",
        f"{shown}: {_sentence(why)} Whether the last step was written is not known. Nothing hangs on it: the next command reads what "
        "stands, and asks the providers about whatever is open.",
        "Once the server is back, look, then go on:\n  nodusctl state show\n  nodusctl apply",
    )


def busy(shown: str) -> UserError:
    """Another process kept its turn for longer than we wait."""
    return trouble(
        "StateBusy",
        "Another process is writing the state and didn't finish in time.",
        f"{shown}: its transaction stayed open. Nothing was changed.",
        "Run the command again. See who it is, where that is needed:\n"
        "  SELECT pid, application_name, client_addr, state FROM pg_stat_activity WHERE application_name LIKE 'nodusctl:%'",
        exit_code=ExitCode.LOCKED,
    )


def not_permitted(shown: str, why: str) -> UserError:
    """The account may not do this, or the server takes no writing."""
    return trouble(
        "StateNotUsable",
        "The state's database can't be read or written.",
        f"{shown}: {_sentence(why)}",
        "The account must own the schema its tables lie in, or be granted it:\n  GRANT USAGE, CREATE ON SCHEMA public TO ACCOUNT",
    )


def unfit(shown: str, why: str) -> UserError:
    """A server or database that can't hold a state."""
    return trouble(
        "StateNotUsable",
        "This database can't hold a state.",
        f"{shown}: {why}",
        "Make one that can:\n  CREATE DATABASE nodus ENCODING 'UTF8' TEMPLATE template0",
    )


def not_a_state(shown: str, why: str) -> UserError:
    """Tables of somebody else."""
    return trouble(
        "StateUnreadable",
        "The database can't be read as a nodusctl state.",
        f"{shown}: {why}. Nothing was changed.",
        "Give the state a database of its own, or a schema of its own by adding to the URL:\n  ?options=-csearch_path%3Dnodus",
        field="state",
    )


def told(shown: str, problem: psycopg.Error) -> UserError | None:
    """What the server said, in words for a person; None for what only a bug can cause."""
    from psycopg import errors

    match problem:
        case errors.LockNotAvailable() | errors.IdleInTransactionSessionTimeout():
            return busy(shown)
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction() | errors.InvalidSchemaName():
            return not_permitted(shown, str(problem))
        case errors.DiskFull() | errors.OutOfMemory() | errors.TooManyConnections():
            return unreachable(shown, str(problem))
        case errors.OperationalError():
            return unreachable(shown, str(problem))
        case _:
            return None


def cause_of(problem: Exception) -> psycopg.Error | None:
    """What the driver said, where SQLAlchemy passed it on; None for what no database said."""
    import psycopg
    from sqlalchemy.exc import DBAPIError

    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    return cause if isinstance(cause, psycopg.Error) else None


def may_pass(problem: Exception) -> bool:
    """True for a lost connection, a server that starts or stops, and transactions the server gave up for another's sake."""
    from psycopg import errors

    cause = cause_of(problem)
    if isinstance(cause, errors.DeadlockDetected | errors.SerializationFailure):
        return True
    if isinstance(cause, errors.LockNotAvailable | errors.IdleInTransactionSessionTimeout | errors.DiskFull | errors.OutOfMemory):
        return False
    return isinstance(cause, errors.OperationalError)


_FINAL_WORDS = (
    "failed to resolve host",
    "could not translate host name",
    "authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "does not exist",
    "permission denied",
    "is not permitted to log in",
    "SSL",
    "certificate",
)


def may_be_back(problem: psycopg.OperationalError) -> bool:
    """True where a connection that failed may be made in a moment: nobody listens, or the server starts, stops, recovers or is full.

    While connecting libpq passes on no code, so the words decide, and a server says that it isn't ready in many. So what waiting can't
    mend is what is known here; in another language that is waited for in vain, for the same few seconds.
    """
    # The missing socket of a server that is starting again is a file that doesn't exist, in other words.
    return not any(words in str(problem) for words in _FINAL_WORDS)


def _sentence(words: str) -> str:
    """The first line of what libpq or the server says, ended by a full stop."""
    lines = [line.strip() for line in words.strip().splitlines() if line.strip()]
    first = lines[0] if lines else "no answer"
    if first.endswith("failed:") and len(lines) > 1:
        first = f"{first} {lines[1]}"
    return first.rstrip(".") + "."
