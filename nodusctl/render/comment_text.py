"""Markdown that user text can't break out of, and how long a text is for a forge.

Everything a person or a provider wrote stands in a code span or a fenced block: there no forge reads mentions, issue numbers, links, HTML
or table bars. What can't be seen (control characters, marks that turn the reading direction) is spelt out. Text is cleaned of secrets
before it is measured, because a mark may be longer than what it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nodusctl.base.redaction import clean

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_RUN = re.compile("`+")
_PLAIN = re.compile("[A-Za-z0-9 ,.()+-]*")
_BAR = re.compile(r"(\\*)\|")


def size_of(text: str) -> int:
    """Length in UTF-16 units: what the strictest counter among the forges counts, never less than the number of characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def span(text: str) -> str:
    """``text`` as a code span on one line; nothing for no text."""
    shown = visible(clean(text)).replace("\n", " ").replace("\t", " ")
    if not shown.strip():
        return ""
    ticks = "`" * (_longest_run([shown]) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def cell(text: str) -> str:
    """A code span inside a table: a bar would end the cell, in code too."""
    return _BAR.sub(lambda found: f"{found[1] * 2}\\|", span(text))


def word_cell(text: str) -> str:
    """Plain words as they are, anything that could be markup as a code span."""
    return text if not text or _PLAIN.fullmatch(text) else cell(text)


def row(cells: Iterable[str]) -> str:
    """A table row of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"


def table_head(heads: Sequence[str], numbers: Iterable[str] = ()) -> list[str]:
    """The two lines above a table's rows; columns named in ``numbers`` are aligned to the right."""
    right = frozenset(numbers)
    return [row(heads), "|" + "|".join("---:" if head in right else "---" for head in heads) + "|"]


def fence_for(lines: Iterable[str]) -> str:
    """A fence longer than any run of backticks inside."""
    return "`" * max(3, _longest_run(lines) + 1)


def fenced(lines: Sequence[str], *, fence: str = "", language: str = "", indent: str = "") -> list[str]:
    """A fenced block. ``fence`` is given where lines are chosen after their fence; lines are visible text already cleaned."""
    marks = fence or fence_for(lines)
    return [f"{indent}{marks}{language}", *(f"{indent}{line}" for line in lines), f"{indent}{marks}"]


def block_lines(lines: Iterable[str]) -> list[str]:
    """Lines as they may stand in a fence: cleaned, each on one line, nothing unseen."""
    return [visible(part) for line in lines for part in clean(line).split("\n")]


def visible(text: str) -> str:
    """What can't be seen as an escape, such as ``\\u202e``."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def shortened(text: str, most: int) -> str:
    """``text``, or its beginning up to a word and how many characters are missing."""
    if len(text) <= most:
        return text
    kept = text[:most].rsplit(" ", 1)[0].rstrip(" ,;:")
    return f"{kept} … and {len(text) - len(kept)} characters more"


def _longest_run(texts: Iterable[str]) -> int:
    return max((len(run) for text in texts for run in _RUN.findall(text)), default=0)
