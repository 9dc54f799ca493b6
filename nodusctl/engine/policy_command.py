"""``policy.command``: the hook that hands every plan to a program of the project's own, such as OPA or a script.

It gets the plan as ``--json`` prints it, and passes it with exit code 0. Anything else, also a program that is missing or takes too long,
fails the plan: a rule that nobody could ask is not a rule that was kept. It is asked when a plan is made, and again when a saved plan is
applied, because the policy that counts is that of the place where things happen. Only a plan made from a snapshot is not shown to it:
there, files of a stranger's branch name the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nodusctl.engine.fed_command import Ending, FedCommand
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import POLICY_FAILED, BlockingReason

LIMIT_SECONDS = 30.0
_MOST_WORDS = 2000
_RULE = "policy.command"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCommand:
    """The command of the project file. ``document_of`` turns a plan into the JSON text it is given."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    document_of: Callable[[Plan], str]
    limit_seconds: float = LIMIT_SECONDS

    def reasons(self, plan: Plan) -> tuple[BlockingReason, ...]:
        """PolicyFailed with the program's own words; nothing where it passes the plan."""
        command = FedCommand(
            words=self.words,
            folder=self.folder,
            environment=self.environment,
            limit_seconds=self.limit_seconds,
            most_words=_MOST_WORDS,
            hears_stdout=True,
        )
        ending = command.run(self.document_of(plan))
        return () if ending.is_good else (_failed(self.words[0], ending),)

    def judged(self, plan: Plan) -> Plan:
        """The plan with what the command says against it. A plan that changes nothing is not shown to it."""
        return replace(plan, reasons=(*plan.reasons, *self.reasons(plan))) if plan.has_changes else plan


def _failed(program: str, ending: Ending) -> BlockingReason:
    if ending.fault:
        message = f"{ending.fault}." + (f"\n{ending.words}" if ending.words else "")
        fix = f"Make {_RULE} in nodusctl.yaml a program that ends with 0 for a plan it passes."
    else:
        message = ending.words or f"{program} ended with exit code {ending.code} and said nothing."
        fix = f"Change what it objects to; it is {program}, named by {_RULE} in nodusctl.yaml."
    return BlockingReason(code=POLICY_FAILED, address=None, message=message, fix=fix, field=_RULE)
