"""Where a state lives: the URL of the project file as a path."""

from __future__ import annotations

from pathlib import Path

from nodusctl.store.faults import bad_url, not_usable

_SCHEME = "sqlite:///"
OWN_FOLDER, BACKUPS = ".nodus", "backups"


def path_of(url: str, root: Path) -> Path:
    """The file behind ``sqlite:///PATH`` (relative to ``root``) or ``sqlite:////PATH``; UserError for anything else."""
    path = url.removeprefix(_SCHEME)
    if path == url or not path or "?" in path or path == ":memory:":
        raise bad_url(url)
    return root / path


def is_missing(path: Path) -> bool:
    """True where nothing is; UserError where we may not even look."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as problem:
        raise not_usable(path, problem.strerror or str(problem)) from None
    return False


def prepare_folder(path: Path) -> None:
    """Make the folder of a state that is about to be created; our own ``.nodus`` keeps itself out of version control."""
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == OWN_FOLDER and not ignore.exists():
        ignore.write_text("*\n")
