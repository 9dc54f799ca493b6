"""Tables for people: columns under bold heads, no frames, so that they can be read, cut and grepped alike.

On a terminal long cells wrap inside their column; in a pipe or a file every row is one line however long.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import StringIO

from nodusctl.base.redaction import clean
from nodusctl.render.style import Style

_UNLIMITED = 10_000


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style, *, right: Collection[str] = (), indent: int = 0) -> str:
    """Rows under ``heads``; the columns named in ``right`` hold numbers and are aligned to the right. Cells are plain text."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in heads:
        grid.add_column(head, justify="right" if head in right else "left", overflow="fold", no_wrap=not style.width)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    page = StringIO()
    Console(
        file=page,
        width=style.width or _UNLIMITED,
        force_terminal=style.has_colour,
        color_system="standard" if style.has_colour else None,
        no_color=not style.has_colour,
        highlight=False,
        legacy_windows=False,
    ).print(Padding(grid, (0, 0, 0, indent), expand=False))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def pairs(rows: Sequence[tuple[str, str]], *, indent: int = 0) -> str:
    """``Name:  value`` lines with the values in one column; empty values are left out, further lines are indented alike."""
    kept = [(name, clean(value)) for name, value in rows if value]
    width = max((len(name) for name, _ in kept), default=0) + 1
    lines: list[str] = []
    for name, value in kept:
        first, *others = value.splitlines()
        lines.append(f"{' ' * indent}{name + ':':<{width}}  {first}")
        lines += [f"{' ' * (indent + width + 2)}{other}" for other in others]
    return "\n".join(lines)
