"""What most often mends a YAML text the parser stumbled over, read from the text itself.

The parser names the place where it gave up and what it was reading; a person needs the place of the slip and its remedy. Each rule below
knows one slip, and the first that fits speaks. No rule repeats a value: what stands in a broken text may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_KEY = r"[A-Za-z_][\w.-]*"
_CONFLICT = re.compile(r"<{7} |>{7} ")
_GLUED = re.compile(rf"(\s*(?:- +)*)({_KEY}):(?=[^\s:/])(?!.*: )")
_GLUED_DASH = re.compile(r"(\s*)-(?=[\w\"'])")
_LONE = re.compile(rf"(\s*)({_KEY})\s*(?:#.*)?$")
_ASSIGNED = re.compile(rf"(\s*)({_KEY})\s*=")
_UNMARKED = re.compile(rf"(\s*)({_KEY}) +[^\s:#]")
_NEVER_FIRST = "@`%"
_PARTS = {
    "quoted scalar": "Close the quote{began}.",
    "block mapping": "Give the fields of the mapping{began} the same indentation.",
    "block collection": "Give the members of the list{began} the same indentation.",
    "simple key": "Put a colon and a space after the key{began}, or quote the text.",
    "alias": "Quote a text that begins with *.",
    "anchor": "Quote a text that begins with &.",
    "tag": "Quote a text that begins with !.",
}
"""By what the parser was reading; ``{began}`` is where that begins."""
_LAST_RESORT = "Quote the text, if it holds special characters, and give lines that belong together the same indentation."


class Mended(NamedTuple):
    """A remedy and the place it is for; both counts begin at 0."""

    fix: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Where the parser gave up, and on what. ``began`` is the line where what it was reading begins; counts begin at 0.

    ``offset`` is the number of lines before ``lines`` in the file, for the numbers people are told.
    """

    lines: Sequence[str]
    line: int
    column: int
    words: str
    context: str
    began: int | None
    offset: int

    @property
    def written(self) -> str:
        """The line of the place."""
        return self._at(self.line)

    @property
    def character(self) -> str:
        """What stands at the place; empty at a line's end."""
        return self.written[self.column : self.column + 1]

    def above(self, line: int) -> int | None:
        """The next line upwards that holds something."""
        return next((at for at in range(min(line, len(self.lines)) - 1, -1, -1) if _holds(self._at(at))), None)

    def suspects(self) -> Iterator[tuple[int, str]]:
        """Lines that may hold the slip: where it began, the one above the place, the place."""
        for at in dict.fromkeys((self.began, self.above(self.line), self.line)):
            if at is not None and _holds(self._at(at)):
                yield at, self._at(at)

    def number(self, line: int) -> int:
        """A line as people count it."""
        return line + self.offset + 1

    def here(self, fix: str) -> Mended:
        """A remedy for the place itself."""
        return Mended(fix, self.line, self.column)

    def _at(self, line: int) -> str:
        return self.lines[line] if line < len(self.lines) else ""


def mend(trouble: Trouble) -> Mended:
    """The remedy of the first rule that fits, else one by what was being read."""
    for rule in _RULES:
        found = rule(trouble)
        if found is not None:
            return found
    began = f" that begins in line {trouble.number(trouble.began)}" if trouble.began is not None else ""
    return trouble.here(next((fix.format(began=began) for part, fix in _PARTS.items() if part in trouble.context), _LAST_RESORT))


def _merge_conflict(trouble: Trouble) -> Mended | None:
    at = next((at for at, line in enumerate(trouble.lines) if _CONFLICT.match(line)), None)
    if at is None:
        return None
    return Mended(f"Settle the merge conflict at line {trouble.number(at)}, and remove its marker lines.", at, 0)


def _escape(trouble: Trouble) -> Mended | None:
    if "escape" not in trouble.words:
        return None
    return trouble.here("Write two backslashes for one, or use single quotes: in double quotes a backslash begins an escape.")


def _block_text(trouble: Trouble) -> Mended | None:
    if "block scalar" not in trouble.context:
        return None
    return trouble.here("Begin the text in the line below the | or >, indented further; or quote a text that begins with one.")


def _quote(trouble: Trouble) -> Mended | None:
    """What follows a closing quote: too much text, or a text whose quote was never closed in an earlier line."""
    before = trouble.written[: trouble.column].rstrip()
    mark = before[-1:]
    if "quoted scalar" in trouble.context or mark not in ("'", '"') or not trouble.character or trouble.character in ",]}":
        return None
    if before.count(mark) % 2 == 0:
        return trouble.here("Put the whole text in the quotes: nothing may follow the closing one.")
    opened = next((at for at in range(trouble.line - 1, -1, -1) if trouble.lines[at].count(mark) % 2), None)
    if opened is None:
        return None
    return Mended(f"Close the quote that begins in line {trouble.number(opened)}.", opened, trouble.lines[opened].rindex(mark))


def _bracket(trouble: Trouble) -> Mended | None:
    """A closing bracket too many, of the other kind or none at all; or a comma that is missing between two parts of one line."""
    is_list, is_mapping = "flow sequence" in trouble.context, "flow mapping" in trouble.context
    if trouble.character in ("]", "}"):
        if is_list or is_mapping:
            return trouble.here(f"Write {']' if is_list else '}'} in place of {trouble.character}.")
        return trouble.here(f"Remove the {trouble.character}, which nothing opens.")
    if not (is_list or is_mapping) or trouble.began is None:
        return None
    if trouble.began == trouble.line:
        return trouble.here(f"Put a comma between the {'members of the list' if is_list else 'fields of the mapping'}.")
    name, close = ("list", "]") if is_list else ("mapping", "}")
    fix = f"Close the {name} that begins in line {trouble.number(trouble.began)} with {close}, and put commas between its parts."
    return Mended(fix, trouble.began, max(trouble.lines[trouble.began].rfind("[" if is_list else "{"), 0))


def _glued(trouble: Trouble) -> Mended | None:
    """A colon or a dash without the space after it, so that key and value, or dash and member, are one text."""
    if not _lacks_colon(trouble):
        return None
    for at, line in trouble.suspects():
        if found := _GLUED.match(line):
            return Mended(f"Put a space after the colon of {found[2]} in line {trouble.number(at)}.", at, found.end(2))
        if found := _GLUED_DASH.match(line):
            return Mended(f"Put a space after the dash in line {trouble.number(at)}.", at, found.end(1))
    return None


def _missing_colon(trouble: Trouble) -> Mended | None:
    """A key that was written without its colon."""
    if not _lacks_colon(trouble):
        return None
    for at, line in trouble.suspects():
        if at == trouble.line and "mapping values" in trouble.words:
            continue
        if found := _ASSIGNED.match(line):
            return Mended(f"Write a colon in place of = after {found[2]} in line {trouble.number(at)}.", at, found.end(2))
        if found := (_LONE.match(line) or _UNMARKED.match(line)):
            return Mended(f"Put a colon and a space after {found[2]} in line {trouble.number(at)}, or quote the text.", at, found.end(2))
    return None


def _second_colon(trouble: Trouble) -> Mended | None:
    """Two keys in one line, or one that is indented further than the field above it."""
    if "mapping values" not in trouble.words:
        return None
    above, indent = trouble.above(trouble.line), _indent(trouble.written)
    is_first = ": " not in trouble.written[: trouble.column]
    if is_first and above is not None and _indent(trouble.lines[above]) < indent:
        return Mended(_indented_like(trouble, above), trouble.line, indent)
    return trouble.here("Quote the text that holds ': '.")


def _first_character(trouble: Trouble) -> Mended | None:
    if not trouble.character or trouble.character not in _NEVER_FIRST:
        return None if "directive" not in trouble.words else trouble.here("Quote a text that begins with %.")
    return trouble.here(f"Quote the text: without quotes none begins with {trouble.character}.")


def _member(trouble: Trouble) -> Mended | None:
    """A dash where no list can go on, or a field where only members can."""
    is_dash = trouble.written.lstrip().startswith("- ")
    if "block mapping" in trouble.context and is_dash:
        above = trouble.above(trouble.line)
        if above is not None and trouble.lines[above].lstrip().startswith("- "):
            return trouble.here(_indented_like(trouble, above))
        return trouble.here("Put the list under a field of its own: it can't follow a field that has a value.")
    if "block collection" in trouble.context and not is_dash and trouble.began is not None:
        list_line = trouble.number(trouble.began)
        return trouble.here(f"Begin the line with a dash, or indent it less: the list that begins in line {list_line} has members only.")
    return None


def _dedented(trouble: Trouble) -> Mended | None:
    """A line that is indented less than its neighbours and more than what they belong to."""
    above = trouble.above(trouble.line)
    if "block mapping" not in trouble.context or above is None or _indent(trouble.written) != trouble.column:
        return None
    if trouble.written.strip() == "---":
        return trouble.here("Begin the line with ---: no space stands before what parts two documents.")
    if _indent(trouble.lines[above]) <= trouble.column:
        return None
    return trouble.here(f"{_indented_like(trouble, above)[:-1]}, or as far as the field it belongs beside.")


def _lacks_colon(trouble: Trouble) -> bool:
    return "simple key" in trouble.context or "mapping values" in trouble.words


def _indented_like(trouble: Trouble, other: int) -> str:
    wanted = _indent(trouble.lines[other])
    by = "not at all" if not wanted else f"by {wanted} space{'' if wanted == 1 else 's'}"
    return f"Indent line {trouble.number(trouble.line)} like line {trouble.number(other)}, {by}."


def _holds(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_RULES: tuple[Callable[[Trouble], Mended | None], ...] = (
    _merge_conflict,
    _escape,
    _block_text,
    _quote,
    _bracket,
    _glued,
    _missing_colon,
    _second_colon,
    _first_character,
    _member,
    _dedented,
)
