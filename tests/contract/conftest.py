"""One PostgreSQL server for all tests of a process that want one; a database of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.postgres import Server, a_server, why_not


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    if reason := why_not():
        pytest.skip(reason)
    with a_server() as server:
        yield server
