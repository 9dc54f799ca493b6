"""StateNotShared: a state file in the checkout of a CI job goes with the job, and with it the only record of machines that stay."""

from __future__ import annotations

from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.cli.wiring import Wiring
from nodusctl.provider.contract import Description


def refuse_unshared_state(wiring: Wiring, *, is_ci: bool, is_local_fine: bool) -> None:
    """UserError where apply would put machines on record where nobody looks again: in CI, and with no state yet and no person there.

    Never for machines on this computer and in a simulated world: those go with the checkout too.
    """
    facts = wiring.journal.facts()
    is_file = str(facts.get("url", "")).startswith("sqlite:")
    nobody_looks = is_ci or (not wiring.journal.exists() and not wiring.surroundings.can_ask)
    if is_local_fine or not is_file or not nobody_looks:
        return
    folder, path = wiring.project.folder.resolve(), Path(str(facts.get("path", ""))).resolve()
    elsewhere = [name for name in wiring.providers.names() if _lives_elsewhere(wiring, name)] if path.is_relative_to(folder) else []
    if elsewhere:
        detail = f"The state is {path}, in this checkout; machines of {', '.join(elsewhere)} stay when the checkout is gone."
        fix = "Name a state that all runs share (state: in nodusctl.yaml), or say that this one is meant:\n  nodusctl apply --local-state"
        raise UserError(error("StateNotShared", "The state lies where nobody else would find it.", detail, fix))


def _lives_elsewhere(wiring: Wiring, name: str) -> bool:
    try:
        described: Description = wiring.providers.get(name).description
    except UserError:
        return False
    return not described.is_this_computer and described.type != "simulated"
