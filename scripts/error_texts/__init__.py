"""What each code means and what to do about it: the text of ``docs/errors/``, one entry a code, by family.

A fix names the command to run on a line of its own, indented by two blanks.
"""

from __future__ import annotations

from error_texts import documents, machines, money, plans, requests, states, surroundings

FAMILIES = (documents, plans, money, machines, states, surroundings, requests)

TEXTS: dict[str, tuple[str, str]] = {code: text for family in FAMILIES for code, text in family.TEXTS.items()}


def told_twice() -> list[str]:
    """Codes that stand in two families, of which one text would be lost."""
    return sorted(code for code in TEXTS if sum(code in family.TEXTS for family in FAMILIES) > 1)
