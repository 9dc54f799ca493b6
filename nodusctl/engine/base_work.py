"""What base has that this branch doesn't: asked when a plan is made, and again when a reviewed plan is applied.

Three forms of each object are compared: where the branch left base, on base now, and here. Only the answer goes into a plan; git itself is
never needed to apply one, but where it is there, a plan that base has overtaken is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error, note
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.base_documents import Differing, Written, differing, objects_in, same, written_of
from nodusctl.engine.base_git import Commit, GitRepository
from nodusctl.engine.specs import Specs
from nodusctl.plan.actions import Action
from nodusctl.plan.plan import Plan
from nodusctl.planner.base_moved import BaseFacts, BaseWork
from nodusctl.resources.project import ProjectFile

_AGAIN = "Bring the branch up to date, then make a new plan and have it reviewed:\n  nodusctl plan --base {ref} -o FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of base's history, and the objects that differ between its ends."""

    repository: GitRepository
    project: ProjectFile
    since: Commit
    until: Commit
    found: Differing

    def blamed(self, address: Address) -> Commit:
        """The newest commit of base that changed this very object, and not only its file; the end where none can be told."""
        sides = (self.found.before.get(address), self.found.after.get(address))
        files = sorted({one.file for one in sides if one is not None})
        for name in files:
            for commit in self.repository.commits_touching(self.since, self.until, name):
                parent = self.repository.parent(commit)
                if parent is None or not same(self._object(commit, files, address), self._object(parent, files, address)):
                    return commit
        return self.until

    def _object(self, commit: Commit, files: Iterable[str], address: Address) -> Written | None:
        return objects_in(self.repository.contents(commit, files), self.project)[0].get(address)


def base_facts(repository: GitRepository, ref: str, specs: Specs, root: Path, project: ProjectFile) -> BaseFacts:
    """What base has done since this branch left it. UserError where git or the history is missing."""
    tip = repository.commit(ref)
    began = repository.merge_base(repository.commit("HEAD"), tip)
    found = differing(repository, began, tip, root, project)
    stretch = Stretch(repository=repository, project=project, since=began, until=tip, found=found)
    here = {one.address: written_of(one) for one in specs.resources}
    unselected = specs.written - set(here)
    lacking = (one for one in found.addresses() if one not in unselected and not same(here.get(one), found.after.get(one)))
    return BaseFacts(ref=ref, commit=tip.id, work={address: _work(stretch, address, here) for address in lacking})


def moved_base(repository: GitRepository, plan: Plan, root: Path, project: ProjectFile) -> tuple[Diagnostic, ...]:
    """Why a reviewed plan was overtaken by its base branch: an error. A note where this can't be told here; nothing where it wasn't."""
    if not plan.basis.base_commit:
        return ()
    then = Commit(id=plan.basis.base_commit)
    try:
        tip = repository.commit(plan.basis.base_ref)
        if tip.id == then.id:
            return ()
        if not repository.has(then):
            return (_untold(plan, f"this clone doesn't have {then.short}"),)
        found = differing(repository, then, tip, root, project)
        stretch = Stretch(repository=repository, project=project, since=then, until=tip, found=found)
        changed = frozenset(found.addresses())
        overtaken = [action.address for action in plan.actions if action.address in changed and not _is_base(action, found)]
        lines = [_line(address, stretch.blamed(address)) for address in overtaken]
    except UserError as fault:
        return (_untold(plan, "; ".join(one.detail or one.summary for one in fault.diagnostics).rstrip(".")),)
    return (_overtaken(plan, lines),) if lines else ()


def _work(stretch: Stretch, address: Address, here: Mapping[Address, Written]) -> BaseWork:
    former, now = stretch.found.before.get(address), stretch.found.after.get(address)
    commit = stretch.blamed(address)
    return BaseWork(
        address=address,
        commit=commit.short,
        subject=commit.subject,
        file=(now or former or here[address]).file,
        is_removal=now is None,
        is_contested=not same(here.get(address), former),
        former=former.spec if former is not None else None,
    )


def _is_base(action: Action, found: Differing) -> bool:
    """True where base has become what the plan makes of the object: as a rule because the branch was merged."""
    now = found.after.get(action.address)
    if action.applied is None or now is None:
        return action.applied is None and now is None
    texts = ((now.labels, action.labels), (now.annotations, action.annotations))
    return dict(now.spec) == dict(action.applied) and all(
        planned.get(key) == text for there, planned in texts for key, text in there.items()
    )


def _line(address: Address, commit: Commit) -> str:
    return f"{address} in {commit.short}" + (f" ({commit.subject})" if commit.subject else "")


def _overtaken(plan: Plan, lines: Iterable[str]) -> Diagnostic:
    ref = plan.basis.base_ref
    detail = "\n".join((f"The plan was made against {ref} at {plan.basis.base_commit[:10]}. Since then {ref} changed:", *lines))
    return error("BaseMoved", "The base branch moved under this plan.", detail, _AGAIN.format(ref=ref))


def _untold(plan: Plan, why: str) -> Diagnostic:
    detail = f"The plan was made against {plan.basis.base_ref} at {plan.basis.base_commit[:10]}; {why}."
    return note("BaseUnknown", "Nobody can say whether the base branch moved.", detail)
