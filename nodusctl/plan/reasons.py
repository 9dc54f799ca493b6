"""Blocking reasons: facts that stop an apply, each with what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from enum import StrEnum

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address


class ReasonScope(StrEnum):
    """An ``object`` reason blocks that object; a ``plan`` reason blocks all (cli.md, "Exit codes")."""

    OBJECT = "object"
    PLAN = "plan"


OBJECT_SCOPED = frozenset(
    {
        "IntentUnsettled",
        "ProviderNotReady",
        "Unsupported",
        "DeviceBusy",
        "DeviceGroupNotViable",
        "VolumeBusy",
        "CapacityUnavailable",
        "ImageNotReady",
    }
)
ALWAYS_SKIPPED = frozenset({"IntentUnsettled", "Unsupported"})
"""Reasons apply skips without ``--skip-blocked``, saying so."""
POLICY_FAILED = "PolicyFailed"
"""A limit of the project's own policy; alone it ends a plan with 15, not 10 (cli.md, "Exit codes")."""


def exit_code_of_reasons(reasons: Collection[BlockingReason]) -> ExitCode:
    """Policy failed where nothing but the project's own limits is in the way, else blocked; done for none."""
    if not reasons:
        return ExitCode.DONE
    return ExitCode.POLICY if all(reason.code == POLICY_FAILED for reason in reasons) else ExitCode.BLOCKED


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingReason:
    """One fact that stops apply. ``amounts`` are decimal USD strings by name, for faces that print tables."""

    code: str
    address: Address | None
    message: str
    fix: str
    field: str = ""
    amounts: Mapping[str, str] = field_of(default_factory=dict)

    @property
    def scope(self) -> ReasonScope:
        """Whether it blocks its object or everything."""
        return ReasonScope.OBJECT if self.code in OBJECT_SCOPED and self.address is not None else ReasonScope.PLAN

    @property
    def is_always_skipped(self) -> bool:
        """True where apply leaves the object out by itself."""
        return self.scope is ReasonScope.OBJECT and self.code in ALWAYS_SKIPPED
