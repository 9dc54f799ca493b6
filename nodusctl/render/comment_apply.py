"""How a reviewed plan is applied: the exact commands, or why there is none yet."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import ReasonScope
from nodusctl.render.comment_losses import DROPS_REVISIONS, REPLACES_DISK, losses_of
from nodusctl.render.comment_text import block_lines, fenced, shortened, span
from nodusctl.render.counting import counted

_DEFAULT_DELETES = 3
_LONGEST_COMMAND = 1_000
_LONGEST_FILE = 200
_MOST_NAMED = 6
_LONGEST_NAME = 100
_DOES = {
    ChangeClass.DESTROYS.value: "destroys",
    DROPS_REVISIONS: "destroys revisions of",
    REPLACES_DISK: "replaces the disk of",
    ChangeClass.REPLACES.value: "replaces the machine of",
    ChangeClass.ENDS_SESSION.value: "ends the session of",
    ChangeClass.RESTARTS.value: "restarts",
}
"""What apply does to an object by what it means for it; anything else that is told as a loss is a removal."""


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
        yield from _rest(plan)
        yield ""
        yield from _command(_bounded(f"nodusctl apply {_options(plan)}--skip-blocked"))


def _rest(plan: Plan) -> Iterator[str]:
    """What ``--skip-blocked`` leaves out, what it ends and destroys all the same, and how it differs from applying what was reviewed."""
    blocked = tuple(dict.fromkeys(reason.address for reason in plan.reasons if reason.address is not None))
    yield f"Or carry out the rest now, without {_some(blocked)}, which {'is' if len(blocked) == 1 else 'are'} blocked."
    done = _done_all_the_same(plan, frozenset(blocked))
    yield f"**This {done}.**" if done else "Nothing else is destroyed, ended or restarted by it."
    yield "It plans afresh, so its hash isn't the one reviewed here; it shows that plan, asks, and ends with exit code 14:"


def _done_all_the_same(plan: Plan, blocked: Collection[Address]) -> str:
    """``destroys volume/home and restarts workspace/lab``; only counts where there are too many to be named."""
    groups: dict[str, list[Address]] = {}
    for loss in losses_of(plan):
        if loss.address not in blocked:
            groups.setdefault(_DOES.get(loss.consequence, "removes"), []).append(loss.address)
    is_named = sum(len(group) for group in groups.values()) <= _MOST_NAMED
    told = [
        f"{word} {_listed([_shown(one) for one in group]) if is_named else counted(len(group), 'object')}" for word, group in groups.items()
    ]
    return _listed(told) + ("" if is_named else "; they are named above")


def _some(addresses: Collection[Address]) -> str:
    return _listed([_shown(one) for one in addresses]) if len(addresses) <= _MOST_NAMED else counted(len(addresses), "object")


def _shown(address: Address) -> str:
    return span(shortened(str(address), _LONGEST_NAME))


def _listed(words: Collection[str]) -> str:
    """``a, b and c``."""
    *first, last = words or ("",)
    return f"{', '.join(first)} and {last}" if first else last


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
