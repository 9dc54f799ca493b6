"""One running Workspace with every tool, shared by the tests of a module: a start costs seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.local_project import LocalProject


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalProject]:
    project = LocalProject(tmp_path_factory.mktemp("lab"), tools="SSH, VSCode, Jupyter").write()
    try:
        project.done("apply", "--yes")
        yield project
    finally:
        project.clear()
