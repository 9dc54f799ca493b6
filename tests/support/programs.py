"""A computer that has the programs a local machine needs, whatever this one has: found by name, never run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.commands import CommandLine


def equipped(cli: CommandLine, folder: Path, *names: str) -> CommandLine:
    """The same project with a PATH on which ``names`` stand, and nothing else; all that are needed where none is named."""
    folder.mkdir()
    for name in names or ("ssh", "sshd"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    return replace(cli, environment={**cli.environment, "PATH": str(folder)})
