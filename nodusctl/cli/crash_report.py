"""A crash report: the traceback and the command's words, redacted, in a file only its owner can read."""

from __future__ import annotations

import os
import platform
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from nodusctl import __version__
from nodusctl.base.redaction import clean
from nodusctl.base.timestamps import format_time


def write_crash_report(ending: BaseException, *, folder: Path, moment: datetime, words: Sequence[str]) -> Path | None:
    """The report's path; None where the folder can't be written to, because a second failure must not hide the first."""
    return write_report(traceback.format_exception(ending), folder=folder, moment=moment, words=words)


def write_report(tracebacks: Sequence[str], *, folder: Path, moment: datetime, words: Sequence[str]) -> Path | None:
    """The same of tracebacks that are text already."""
    lines = [
        f"nodusctl {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"time: {format_time(moment)}",
        f"command: nodusctl {' '.join(words)}",
        "",
        *tracebacks,
    ]
    path = folder / f"crash-{moment:%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(clean("\n".join(lines)))
    except OSError:
        return None
    return path
