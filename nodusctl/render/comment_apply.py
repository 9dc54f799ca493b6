"""How a reviewed plan is applied: the exact commands, or why there is none yet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import ReasonScope
from nodusctl.render.comment_text import block_lines, fenced

_DEFAULT_DELETES = 3
_LONGEST_COMMAND = 1_000
_LONGEST_FILE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Applying:
    """What is known of where the plan lies. ``file`` is its file as the person named it; ``command`` replaces all of it (``destroy``)."""

    file: str = ""
    command: str = ""

    @property
    def shown_file(self) -> str:
        """The file as a word of a command line; FILE for a path too long to be read. Empty without one."""
        return shlex.quote(self.file) if len(self.file) <= _LONGEST_FILE else "FILE"


def apply_lines(plan: Plan, applying: Applying) -> Iterator[str]:
    """Markdown; a command stands in a block of its own, so that it can be copied whole."""
    if not plan.actions:
        yield "There is nothing to apply."
        return
    if any(not reason.is_always_skipped for reason in plan.reasons):
        yield from _blocked(plan)
        return
    if applying.command:
        yield from _command(applying.command)
        return
    yield "Exactly this plan, while the state and its facts haven't moved; a rate more than 10 % above the printed one refuses it:"
    yield ""
    # A plan made from a snapshot says what would change in the state as it was written down: it is made again where the state is.
    has_file = bool(applying.file) and plan.basis.snapshot_at is None
    saved, hashed = f"nodusctl apply {applying.shown_file}" if has_file else "", by_hash(plan)
    if saved:
        yield from _command(saved)
    if len(hashed) > _LONGEST_COMMAND:
        yield from ("", "Its hash alone won't do: so many options don't fit here. Save the plan with `-o` and apply its file.")
        return
    if saved:
        yield from ("", "Without the file, by its hash:", "")
    yield from _command(hashed)


def _blocked(plan: Plan) -> Iterator[str]:
    """What to do instead: mend and plan again; or leave out what is blocked, where it blocks only itself."""
    yield "Not as it is. Mend what blocks it, plan again, and have the new plan reviewed; its hash will be another one:"
    yield ""
    yield from _command(_bounded(f"nodusctl plan {_options(plan)}-o plan.nodusplan"), "nodusctl apply plan.nodusplan")
    if not any(reason.scope is ReasonScope.PLAN for reason in plan.reasons):
        yield ""
        yield "Or carry out the rest now, without the objects that are blocked; this shows a fresh plan and asks:"
        yield ""
        yield from _command(_bounded(f"nodusctl apply {_options(plan)}--skip-blocked"))


def by_hash(plan: Plan) -> str:
    """The command that plans afresh and applies only what was reviewed, with the options this plan was made with."""
    return f"nodusctl apply {_options(plan)}--plan-hash {plan_hash(plan)} --yes"


def _options(plan: Plan) -> str:
    """What the plan was made with, ending in a blank where there is any."""
    allow, base = plan.allow, plan.basis.base_ref
    words: list[str] = ["--base", base] if base else []
    if allow.max_deletes != _DEFAULT_DELETES:
        words += ["--allow-deletes", str(allow.max_deletes)]
    words += [word for address in allow.restarts for word in ("--restart", str(address))]
    flags = {
        "--prune": allow.prunes,
        "--accept-no-edge": allow.accepts_no_edge,
        "--accept-base-moved": allow.accepts_base_moved,
    }
    words += [name for name, is_given in flags.items() if is_given]
    return f"{shlex.join(words)} " if words else ""


def _bounded(command: str) -> str:
    """A command, without the options it was planned with where they are too many to be written here."""
    return command if len(command) <= _LONGEST_COMMAND else f"{' '.join(command.split()[:2])} {command.rsplit(maxsplit=1)[-1]}"


def _command(*commands: str) -> list[str]:
    return fenced(block_lines(commands), language="sh")
