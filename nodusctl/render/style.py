"""How wide and how colourful text may be. Colour only repeats what a mark or a word already says."""

from __future__ import annotations

from dataclasses import dataclass

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """``width`` is in columns; 0 means as wide as the text is (a pipe or a file). ``has_blocks``: bars may be drawn with block elements."""

    has_colour: bool = False
    width: int = 0
    has_blocks: bool = False

    def paint(self, text: str, *names: str) -> str:
        """``text`` in the given colours and weights, or as it is where colour is off."""
        if not (self.has_colour and text and names):
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


PLAIN = Style()
