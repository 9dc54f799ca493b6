"""What blocks a plan, for the part of a comment that is never folded and never left out: code, object, message and fix.

Four ways to say it, each shorter than the one before; the last names every blocked object once, whatever the number of its reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nodusctl.base.ids import Address
from nodusctl.base.redaction import one_line
from nodusctl.plan.reasons import BlockingReason, ReasonScope
from nodusctl.render.comment_text import shortened, span

LONGEST_MESSAGE = 1_200
_SHORT_MESSAGE, _SHORT_FIX = 240, 160
_MOST_LABELS = 12


def told_whole(reasons: Iterable[BlockingReason], *, is_bounded: bool) -> Iterator[str]:
    """Code, object, field, message, and the fix, each of its commands on a line of its own."""
    for reason in reasons:
        field = f" ({span(reason.field)})" if reason.field else ""
        yield f"- **{span(reason.code)}**{_where(reason)}{field}"
        message = one_line(reason.message)
        yield f"  - {span(shortened(message, LONGEST_MESSAGE) if is_bounded else message)}"
        first, *commands = reason.fix.splitlines() or [""]
        if first.strip():
            yield f"  - Fix: {span(first)}"
        yield from (f"  - {shown}" for line in commands if (shown := span(line.strip())))


def told_shortly(reasons: Iterable[BlockingReason]) -> Iterator[str]:
    """A line each."""
    for reason in reasons:
        message, fix = one_line(reason.message), one_line(reason.fix)
        told = span(shortened(message, _SHORT_MESSAGE))
        yield f"- **{span(reason.code)}**{_where(reason)}: {told}" + (f" Fix: {span(shortened(fix, _SHORT_FIX))}" if fix else "")


def told_by_code(reasons: Sequence[BlockingReason]) -> Iterator[str]:
    """A line each code, with the whole addresses it is true for, and the message and fix of the first."""
    for code, group in _by_code(reasons).items():
        addresses = ", ".join(str(one.address) for one in group if one.address is not None)
        yield f"- **{span(code)}** ({len(group)})" + (f": {span(addresses)}" if addresses else "")
        yield from _example(group)


def told_by_name(
    reasons: Sequence[BlockingReason], names: Mapping[Address, str], above: Collection[Address], *, has_examples: bool
) -> Iterator[str]:
    """Each code with its first message, then each blocked object once by name; those in ``above`` are named among the losses."""
    groups = _by_code(reasons)
    for code, group in list(groups.items())[:_MOST_LABELS]:
        yield f"- **{span(code)}** ({len(group)})"
        yield from _example(group) if has_examples else ()
    if len(groups) > _MOST_LABELS:
        yield f"- and {len(groups) - _MOST_LABELS} codes more"
    blocked = {address: label for address, label in labels_of(reasons).items() if address not in above}
    for label, kind in dict.fromkeys((label, address.kind) for address, label in blocked.items()):
        alike = [address for address, own in blocked.items() if own == label and address.kind == kind]
        shown = ", ".join(names[address] for address in alike if address in names)
        yield f"- **{label}**, {kind} ({len(alike)}): {span(shown)}"


def labels_of(reasons: Iterable[BlockingReason]) -> dict[Address, str]:
    """``blocked by A, B`` for each object with a reason: by the first code where there are too many mixtures, by none where still."""
    codes: dict[Address, list[str]] = {}
    for reason in reasons:
        if reason.address is not None:
            codes.setdefault(reason.address, []).append(reason.code)
    for shown in (_all_of, _first_of):
        labels = {address: f"blocked by {span(shown(own))}" for address, own in codes.items()}
        if len(set(labels.values())) <= _MOST_LABELS:
            return labels
    return dict.fromkeys(codes, "blocked")


def consequence_of(reasons: Sequence[BlockingReason]) -> str:
    """One sentence: what the reasons mean for an apply."""
    if not reasons:
        return "Nothing blocks it."
    if any(reason.scope is ReasonScope.PLAN for reason in reasons):
        return "Apply refuses all of it until these are mended."
    if all(reason.is_always_skipped for reason in reasons):
        return "Apply leaves these objects out, says so, and carries out the rest."
    return "These objects are blocked. Apply refuses until they are mended, or leaves them out with `--skip-blocked`."


def _all_of(codes: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(codes))


def _first_of(codes: Sequence[str]) -> str:
    return f"{codes[0]}{' and others' if len(set(codes)) > 1 else ''}"


def _example(group: Sequence[BlockingReason]) -> Iterator[str]:
    message, fix = one_line(group[0].message), one_line(group[0].fix)
    yield f"  - {span(shortened(message, _SHORT_MESSAGE))}"
    if fix:
        yield f"  - Fix: {span(shortened(fix, _SHORT_FIX))}"


def _where(reason: BlockingReason) -> str:
    return f" {span(str(reason.address))}" if reason.address is not None else ""


def _by_code(reasons: Iterable[BlockingReason]) -> dict[str, list[BlockingReason]]:
    groups: dict[str, list[BlockingReason]] = {}
    for reason in reasons:
        groups.setdefault(reason.code, []).append(reason)
    return groups
