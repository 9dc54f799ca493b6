"""The BootRenderer: which form of first-boot document goes to which platform."""

from __future__ import annotations

from typing import assert_never

from nodusctl.bootstrap.bundle import render_bundle, shared_in_bundles
from nodusctl.bootstrap.cloud_init import render_cloud_init, shared_in_cloud_init
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
                return render_cloud_init(plan)
            case _:
                assert_never(form)

    def shared(self, form: BootForm) -> str:
        match form:
            case BootForm.NONE:
                return ""
            case BootForm.BUNDLE:
                return shared_in_bundles()
            case BootForm.CLOUD_INIT:
                return shared_in_cloud_init()
            case _:
                assert_never(form)
