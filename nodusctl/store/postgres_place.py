"""A state's place on a PostgreSQL server: the URL of the project file, and what it means to libpq.

Everything libpq understands may stand in the URL (``sslmode``, ``options`` with another search_path, a unix socket as ``host``); what it
leaves out comes from ``~/.pgpass``, a service file or ``PG…`` variables, as with psql. Passwords never leave this module in clear, but to
libpq and, to be recognised wherever they turn up, to the redactor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nodusctl.base.redaction import REDACTOR
from nodusctl.base.urls import passwords_of, without_password
from nodusctl.store.faults import bad_url
from nodusctl.store.postgres_faults import driver_missing

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql://", "postgres://")
_DEFAULTS = {
    "connect_timeout": "10",
    "client_encoding": "utf8",
    # A laptop that was closed in mid-word is noticed, on both sides.
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
_NAME_BYTES = 63


def is_postgres(url: str) -> bool:
    """True for a URL of a PostgreSQL server."""
    return url.startswith(SCHEMES)


def require_driver() -> None:
    """UserError where the driver, an extra, isn't installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise driver_missing() from None


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """``url`` as the project file says it, and who connects (``command``), for whoever looks at the server."""

    url: str = field(repr=False)
    command: str = ""

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return without_password(self.url)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection whose transactions begin where we say. UserError for a URL libpq can't read."""
        import psycopg
        from psycopg import conninfo

        for password in passwords_of(self.url):
            REDACTOR.remember(password)
        try:
            written = conninfo.conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:
            raise bad_url(self.shown) from None
        # Cut by bytes: the server would cut a longer name with a warning.
        name = f"nodusctl: {self.command}".encode()[:_NAME_BYTES].decode("utf-8", "ignore")
        settings = {**_DEFAULTS, "application_name": name, **{key: str(value) for key, value in written.items()}}
        return psycopg.connect(conninfo.make_conninfo("", **settings), autocommit=True)
