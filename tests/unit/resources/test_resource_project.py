"""The project file: defaults, limits, and settings of providers checked by their plugin's model."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import BaseModel, ConfigDict

from nodusctl.base.money import Money
from nodusctl.documents.reading import read_mapping
from nodusctl.resources.project import DecodedProject, ProviderSettings, decode_project, default_project, read_settings


def decoded(text: str) -> DecodedProject:
    document, faults = read_mapping("nodusctl.yaml", text.encode())
    assert faults == ()
    assert document is not None
    return decode_project(document)


def test_the_example_of_the_manual_is_read() -> None:
    found = decoded(
        "project: lab\nstate: sqlite:///.nodus/state.db\nproviders:\n"
        '  here: {type: local, rateUSDPerHour: "0.12"}\n'
        '  lab-hosts: {type: libvirt, hosts: ["qemu+ssh://root@gpu-01/system"]}\n'
        "  sim: {type: simulated, world: world.yaml}\n"
        'policy: {maxMonthlyUSD: "2000.00"}\n'
    )
    assert found.diagnostics == ()
    assert found.project is not None
    assert found.project.project == "lab"
    assert found.project.providers[0] == ProviderSettings(name="here", type="local", settings={"rateUSDPerHour": "0.12"})
    assert (found.project.policy.max_monthly_usd, found.project.policy.max_deletes) == (Money.parse("2000"), 3)


@pytest.mark.parametrize("project", [default_project(), decoded("").project])
def test_an_absent_or_empty_file_means_the_local_provider_and_the_defaults(project: object) -> None:
    assert project == default_project()
    settings = default_project().settings
    assert (settings.project, settings.state, settings.specs) == ("default", "sqlite:///.nodus/state.db", ("**/*.yaml", "**/*.yml"))
    assert (settings.lease_term, settings.window_lead, settings.always_on) == (timedelta(hours=8), timedelta(minutes=15), False)
    assert [(provider.name, provider.type) for provider in default_project().providers] == [("local", "local")]


@pytest.mark.parametrize(
    ("text", "reason", "field", "place"),
    [
        ("projct: lab", "Invalid", "projct", "1:1"),
        ("project: Lab", "Invalid", "project", "1:10"),
        ("leaseTerm: 8", "Invalid", "leaseTerm", "1:12"),
        ("windowLead: 2h", "Invalid", "windowLead", "1:13"),
        ("alwaysOn: yes", "Invalid", "alwaysOn", "1:11"),
        ("maxDeletes: 3", "Invalid", "maxDeletes", "1:1"),
        ("policy: {maxDeletes: -1}", "Invalid", "policy.maxDeletes", "1:22"),
        ("policy: {maxMonthlyUSD: 2000}", "Invalid", "policy.maxMonthlyUSD", "1:25"),
        ("ignore: [{path: spec.env}]", "FieldValueRequired", "ignore[0].reason", "1:10"),
        ("providers: [local]", "Invalid", "providers", "1:12"),
        ("providers: {a: {}}", "FieldValueRequired", "providers.a.type", "1:13"),
        ("providers: {a: local}", "Invalid", "providers.a", "1:16"),
        ("providers: {a: {type: 5}}", "Invalid", "providers.a.type", "1:23"),
        ("providers: {A: {type: local}}", "Invalid", "providers.A", "1:13"),
        ("specs:", "Invalid", "specs", "1:1"),
        ("policy:", "Invalid", "policy", "1:1"),
    ],
)
def test_a_mistake_in_the_project_file_has_its_place(text: str, reason: str, field: str, place: str) -> None:
    found = decoded(text)
    assert found.project is None
    assert [(fault.code, fault.field, str(fault.span)) for fault in found.diagnostics] == [(reason, field, f"nodusctl.yaml:{place}")]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    world: str
    rate: Money | None = None


def test_settings_of_a_provider_are_checked_at_their_place_in_the_project_file() -> None:
    project = decoded("providers:\n  sim: {type: simulated, wrld: 3}\n").project
    assert project is not None
    settings, faults = read_settings(Settings, project.providers[0])
    assert settings is None
    assert [(fault.code, fault.field, str(fault.span)) for fault in faults] == [
        ("FieldValueRequired", "providers.sim.world", "nodusctl.yaml:2:3"),
        ("Invalid", "providers.sim.wrld", "nodusctl.yaml:2:26"),
    ]
    assert "'world'" in faults[1].fix


def test_correct_settings_become_the_plugins_own_value() -> None:
    settings, faults = read_settings(Settings, ProviderSettings(name="sim", type="simulated", settings={"world": "w.yaml", "rate": "0.5"}))
    assert faults == ()
    assert settings == Settings(world="w.yaml", rate=Money.parse("0.5"))
