"""The agent's code as machines get it: compiled once, then the same files in every machine's folder.

Compiling takes as long as all the rest of making a machine. The surprise: what is kept is kept for one boot of the computer. Nothing of it
is synced to disk, so after a power cut it could be half there, and is made anew.
"""

from __future__ import annotations

import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nodus_providers.local.folders import Root
from nodus_providers.local.guest import kernel_boot_id
from nodus_providers.local.trees import remove_tree
from nodusctl.base.canonical import digest


def install_agent(root: Root, sources: Mapping[str, str], into: Path) -> None:
    """Put the modules (file name → source) and their byte code into the empty folder ``into``."""
    kept = root.path / "agents" / f"{digest([sys.implementation.cache_tag, dict(sources)])[:16]}-{kernel_boot_id()}"
    if not kept.exists():
        _make(kept, sources)
    shutil.copytree(kept, into, copy_function=_linked, dirs_exist_ok=True)


def _make(kept: Path, sources: Mapping[str, str]) -> None:
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in kept.parent.iterdir():
        if not other.name.endswith(kernel_boot_id()):
            remove_tree(other)
    making = Path(tempfile.mkdtemp(prefix=".making-", suffix=f"-{kernel_boot_id()}", dir=kept.parent))
    for name, source in sources.items():
        path = making / Path(name).name
        path.write_text(source, encoding="utf-8")
        py_compile.compile(str(path), dfile=f"agent/{path.name}", doraise=True)
    try:
        making.rename(kept)
    except OSError:
        # Another launch was quicker.
        remove_tree(making)
        if not kept.exists():
            raise


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
