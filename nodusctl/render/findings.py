"""What a command found, for programs that collect findings: what was said on the way, and a plan's reasons and warnings as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nodusctl.base.diagnostics import Diagnostic, Span, error, in_order, warning
from nodusctl.base.ids import Address
from nodusctl.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """``command`` is the command's name; ``files`` are those it read, relative to the project."""

    command: str
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def ordered(self) -> tuple[Diagnostic, ...]:
        """Each once, in the order of the files."""
        return tuple(dict.fromkeys(in_order(self.diagnostics)))


def findings_of(plan: Plan) -> tuple[Diagnostic, ...]:
    """What blocks the plan as errors and what stands beside its costs as warnings, each at its object's document where it has one."""
    return tuple(_findings(plan))


def files_of(plan: Plan) -> tuple[str, ...]:
    """The files of the objects the plan changes."""
    return tuple(sorted({action.source for action in plan.actions if action.source}))


def _findings(plan: Plan) -> Iterator[Diagnostic]:
    places = {action.address: Span(action.source, action.line, 1) for action in plan.actions if action.source and action.line}

    def place(address: Address | None) -> Span | None:
        return places.get(address) if address is not None else None

    for reason in plan.reasons:
        yield error(
            reason.code,
            "This blocks the plan",
            reason.message,
            reason.fix,
            span=place(reason.address),
            field=reason.field,
            address=str(reason.address or ""),
        )
    for line in plan.costs:
        for code, message in line.warnings:
            yield warning(code, "The plan has a warning", message, span=place(line.address), address=str(line.address))
