"""Where a file that a diagnostic names lies in its repository: CI shows findings by that path, people by the project's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


class SourcePlaces:
    """``folders`` are what names may be relative to, the likeliest first; asked for only when a finding has a place."""

    def __init__(self, folders: Callable[[], Sequence[Path]]) -> None:
        self._folders = folders

    def __call__(self, file: str) -> str:
        """With slashes, from the root of the repository; without one from the folder it is relative to; absolute outside of both."""
        folders = [folder.resolve() for folder in self._folders()]
        folder = next((one for one in folders if (one / file).exists()), folders[0])
        path = (folder / file).resolve()
        root = next((one for one in path.parents if (one / ".git").exists()), folder)
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
