"""Whether to colour: ``--color``, then ``NO_COLOR``, ``FORCE_COLOR``, ``TERM=dumb``, then whether it is a terminal (cli.md, "Output")."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class ColourChoice(StrEnum):
    """``--color``."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def wants_colour(choice: ColourChoice, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """The first rule that speaks wins; an empty NO_COLOR says nothing (no-color.org)."""
    if choice is not ColourChoice.AUTO:
        return choice is ColourChoice.ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and is_terminal
