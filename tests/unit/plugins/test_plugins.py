"""Finding and loading plugins, and the wrapper that turns whatever a plugin raises into a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.planning import OFFERS, described

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import REDACTOR
from nodusctl.plugins.discovery import GROUP, installed_entry_points
from nodusctl.plugins.plugins import Plugins, ReadyProviders
from nodusctl.provider.contract import Description, Provider, ProviderContext
from nodusctl.provider.machines import Disk, Holdings, Machine, Release, Revision
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.testing.conformance_hooks import a_context


class Plain:
    """A provider that answers offers and fails at everything else, each in another way."""

    type_name: ClassVar[str] = "plain"
    extra: ClassVar[str] = "plain-extra"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> Provider:
        if settings.get("breaks") == "dependency":
            raise ModuleNotFoundError("No module named 'libheavy'", name="libheavy")
        if settings.get("breaks") == "settings":
            raise UserError(error("Invalid", "A setting is wrong.", "rate is wrong."))
        if settings.get("breaks"):
            raise RuntimeError("it broke with token-abcdef123456")
        return cls(settings)

    def describe(self) -> Description:
        return described(type="plain")

    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        return Done(OFFERS[:1])

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        raise TimeoutError("no answer from token-abcdef123456")

    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        return Refused("Unauthorized", message="bad key token-abcdef123456")

    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        return None  # type: ignore[return-value]

    def release(self, request: ReleaseRequest) -> Reply[Release]:
        raise UserError(error("Invalid", "A summary.", "a detail"))

    def list(self) -> Reply[Holdings]:
        raise KeyboardInterrupt


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=GROUP)


def plugins(tmp_path: Path, **settings: Mapping[str, Any]) -> Plugins:
    entries = (
        entry("plain", f"{__name__}:Plain"),
        entry("broken", "no_such_module_here:Provider"),
        entry("odd", f"{__name__}:NoSuchClass"),
    )
    return Plugins(settings, lambda instance: a_context(tmp_path, instance=instance), entries)


def test_our_own_providers_are_installed_entry_points() -> None:
    assert {"local", "simulated"} <= {one.name for one in installed_entry_points()}


def test_an_instance_is_opened_once_with_its_settings_and_without_its_type(tmp_path: Path) -> None:
    found = plugins(tmp_path, here={"type": "plain", "colour": "red"})
    assert found.names() == ("here",)
    assert found.get("here") is found.get("here")
    assert found.get("here").description.type == "plain"
    assert found.get("here").volumes is None and found.get("here").simulation is None


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"type": "plane"}, "NotSupported", "Write type: plain"),
        ({"type": "broken"}, "ProviderNotReady", "no_such_module_here"),
        ({"type": "odd"}, "ProviderNotReady", "NoSuchClass"),
        ({"type": "plain", "breaks": "dependency"}, "ProviderNotReady", "pip install 'nodusctl[plain-extra]'"),
        ({"type": "plain", "breaks": "settings"}, "Invalid", "rate is wrong."),
        ({"type": "plain", "breaks": "badly"}, "ProviderNotReady", "nodusctl doctor here"),
    ],
)
def test_an_instance_that_can_not_be_loaded_is_a_finding(tmp_path: Path, settings: dict[str, Any], code: str, said: str) -> None:
    found = plugins(tmp_path, here=settings, fine={"type": "plain"})
    (problem,) = found.problems()
    assert problem.code == code and said in problem.detail + problem.fix
    assert found.get("fine").instance == "fine"
    with pytest.raises(UserError):
        found.get("here")


def test_an_instance_nobody_named_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        plugins(tmp_path).get("nowhere")
    assert refused.value.diagnostics[0].code == "NotFound"


def test_every_plugin_is_listed_also_a_broken_one(tmp_path: Path) -> None:
    listed = {one.type: one.is_loadable for one in plugins(tmp_path).plugins()}
    assert listed == {"plain": True, "broken": False, "odd": False}


def test_whatever_a_plugin_raises_is_unknown_and_cleaned() -> None:
    REDACTOR.remember("token-abcdef123456")
    calls = ReadyProviders({"here": Plain({})}).get("here").calls
    match calls.launch(None):  # type: ignore[arg-type]
        case Unknown(detail=detail):
            assert "TimeoutError" in detail and "token-abcdef123456" not in detail
        case other:
            pytest.fail(f"{other!r}")
    assert calls.release(None) == Unknown("A summary. a detail")  # type: ignore[arg-type]
    assert calls.observe([]) == Unknown("the plugin answered with NoneType, which is no reply")
    assert calls.find("t") == Refused("Unauthorized", message="bad key [redacted]")


def test_ctrl_c_inside_a_plugin_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        ReadyProviders({"here": Plain({})}).get("here").calls.list()


def test_the_simulated_provider_loads_with_all_it_can_do(tmp_path: Path) -> None:
    found = Plugins({"sim": {"type": "simulated"}}, lambda instance: a_context(tmp_path, instance=instance)).get("sim")
    assert found.volumes is not None and found.agent is not None and found.simulation is not None
    assert isinstance(found.calls.offers(OfferQuery()), Done)
