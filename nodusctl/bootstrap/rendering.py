"""The BootRenderer: which form of first-boot document goes to which platform."""

from __future__ import annotations

from typing import assert_never

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.bootstrap.bundle import render_bundle, shared_in_bundles
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.contract import BootForm


class Boots:
    """Renders by form; stateless."""

    def render(self, form: BootForm, plan: BootPlan) -> str:
        match form:
            case BootForm.NONE:
                return ""
            case BootForm.BUNDLE:
                return render_bundle(plan)
            case BootForm.CLOUD_INIT:
                raise UserError(error("Unsupported", "Cloud-init documents aren't built yet.", "No shipped provider asks for one."))
            case _:
                assert_never(form)

    def shared(self, form: BootForm) -> str:
        return shared_in_bundles() if form is BootForm.BUNDLE else ""
