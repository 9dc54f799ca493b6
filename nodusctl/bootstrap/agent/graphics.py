"""How busy the graphics cards are, asked of the vendors' tools. They take a second and can hang, so only a child of the keeper asks."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Collection
from typing import Any

_LIMIT_SECONDS = 10.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin"
_NVIDIA = ("nvidia-smi", "--query-gpu=index,uuid,utilization.gpu", "--format=csv,noheader,nounits")
_ROCM = ("rocm-smi", "--showuse", "--showuniqueid", "--json")


def busy(cards: Collection[str] | None) -> tuple[tuple[str, int], ...]:
    """Name and use in percent of each card of the machine; ``cards`` are their ids, None is all that there are."""
    if cards is not None and not cards:
        return ()
    found: list[tuple[str, int]] = []
    for words, read in ((_NVIDIA, read_nvidia), (_ROCM, read_rocm)):
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError):
            found += read(_said(words), cards)
    return tuple(found)


def read_nvidia(text: str, cards: Collection[str] | None) -> list[tuple[str, int]]:
    """Read nvidia-smi's lines of index, id and use. A card that doesn't say its use is left out."""
    found = []
    for line in text.splitlines():
        index, identity, used = (part.strip() for part in line.split(","))
        if used.isdigit() and (cards is None or identity in cards):
            found.append((f"GPU {index}", int(used)))
    return found


def read_rocm(text: str, cards: Collection[str] | None) -> list[tuple[str, int]]:
    """Read rocm-smi's JSON."""
    found = []
    rows: dict[str, Any] = json.loads(text)
    for name, row in sorted(rows.items()):
        names = {"GPU-" + str(row.get("Unique ID", "")).lower().replace("0x", ""), name[4:]}
        used = str(row.get("GPU use (%)", ""))
        if name.startswith("card") and used.isdigit() and (cards is None or names.intersection(cards)):
            found.append((f"GPU {name[4:]}", int(used)))
    return found


def _said(words: tuple[str, ...]) -> str:
    program = shutil.which(words[0], path=_PATH)
    if program is None:
        return ""
    ended = subprocess.run(
        [program, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=True
    )
    return ended.stdout
