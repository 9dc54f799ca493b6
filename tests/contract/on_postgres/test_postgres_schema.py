"""The tables: made, brought up, append-only, and apart from what else is on the server."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool
from support.postgres import Server
from support.postgres_states import ask, founded, one_step, opened, refusal_of

from nodusctl.base.exits import UserError
from nodusctl.store import migrating, postgres_database
from nodusctl.store.revision import REVISION
from nodusctl.testing.store_hooks import LIMIT, a_consumption

pytestmark = pytest.mark.slow


class TestSchema:
    def test_migrations_make_the_same_schema_as_a_fresh_state(self, postgres: Server, url: str) -> None:
        def schema(url: str) -> list[list[str]]:
            own = str(ask(postgres, url, "SELECT current_schema()")[0][0])
            questions = (
                "SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default FROM information_schema.columns "
                "WHERE table_schema = current_schema() ORDER BY 1, 2",
                "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN "
                "(SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace) ORDER BY 1",
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
                "WHERE connamespace = current_schema()::regnamespace ORDER BY 1",
                "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
                "SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()",
                "SELECT name, last FROM numbers ORDER BY 1",
                "SELECT revision FROM turns",
            )
            found = [[str(row).replace(own, "S") for row in ask(postgres, url, question)] for question in questions]
            return [[row for row in rows if "alembic_version" not in row] for rows in found]

        migrated = postgres.new_state()
        with opened(url) as state:
            state.claims.claim("uid-lab", "launch", LIMIT)
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(migrated), poolclass=NullPool)
        with engine.begin() as connection:
            migrating.upgrade(connection)
            assert migrating.revision_of(connection) == REVISION
        assert schema(migrated) == schema(url)

    @pytest.mark.parametrize("table", ["journal", "entries", "postings"])
    @pytest.mark.parametrize("change", ["UPDATE {} SET object_uid = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
    def test_the_past_is_append_only(self, postgres: Server, url: str, table: str, change: str) -> None:
        founded(url)
        with opened(url) as state:
            one_step(state, 1)
        with pytest.raises(errors.IntegrityError, match="append-only"):
            ask(postgres, url, change.format(table))

    def test_a_row_that_was_removed_behind_the_triggers_is_missed(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url) as state:
            one_step(state, 1)
            ask(postgres, url, "ALTER TABLE entries DISABLE TRIGGER USER")
            ask(postgres, url, "DELETE FROM entries WHERE id = 'capture-1'")
            with state.journal.books() as books:
                assert books.rows_gone() == {"entries": 1}

    def test_a_newer_state_is_refused_also_in_mid_work(self, postgres: Server, url: str) -> None:
        """A colleague with a newer version brings the tables up while we are at work: from then on we write nothing."""
        founded(url)
        with opened(url) as state:
            assert state.journal.snapshot().serial == 1
            ask(postgres, url, "UPDATE alembic_version SET version_num = '9999'; UPDATE turns SET revision = '9999'")
            with pytest.raises(UserError) as refusal:
                state.claims.claim("uid-lab", "stop", LIMIT)
            assert refusal.value.diagnostics[0].code == "StateNewer"
        for read_only in (True, False):
            assert refusal_of(url, read_only=read_only).diagnostics[0].code == "StateNewer"

    def test_another_programs_tables_are_left_alone(self, postgres: Server, url: str) -> None:
        """Its own alembic_version too."""
        ask(postgres, url, "CREATE TABLE bookmarks (id INTEGER); CREATE TABLE alembic_version (version_num TEXT)")
        for read_only in (True, False):
            assert refusal_of(url, read_only=read_only).diagnostics[0].code == "StateUnreadable"
        with opened(url) as state, pytest.raises(UserError):
            state.claims.claim("uid-lab", "stop", LIMIT)
        tables = ask(postgres, url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1")
        assert tables == [("alembic_version",), ("bookmarks",)]

    def test_an_older_state_is_brought_up_by_writers_only(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        founded(url)
        for module in (postgres_database, migrating):
            monkeypatch.setattr(module, "REVISION", "a later one")
        assert refusal_of(url).diagnostics[0].code == "StateOlder"
        with opened(url) as state:
            assert state.journal.snapshot().serial == 1
            assert state.claims.claim("uid-lab", "stop", LIMIT) is not None
            assert [(one.why, one.serial) for one in state.copies.backups()] == [("before-upgrade", 1)]

    def test_two_states_in_one_database_know_nothing_of_each_other(self, postgres: Server) -> None:
        first, second = postgres.new_state(), postgres.new_state()
        founded(first)
        with opened(second) as state:
            assert not state.journal.exists()
            assert state.journal.consume(a_consumption("other")) == 1
        with opened(first) as state:
            assert [str(one.record.address) for one in state.journal.snapshot()] == ["workspace/lab"]

    def test_a_database_of_another_encoding_is_told(self, postgres: Server) -> None:
        postgres.ask("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        told = refusal_of(postgres.url("narrow")).diagnostics[0]
        assert (told.code, "LATIN1" in told.detail) == ("StateNotUsable", True)
