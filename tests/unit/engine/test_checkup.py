"""What ``doctor`` finds, for hosts, states and providers that are ill in one way each."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.commands import CommandLine
from support.world import HOME_YAML, World, workspace_yaml

from nodusctl.base.diagnostics import Diagnostic, Severity, error, note, warning
from nodusctl.base.exits import ExitCode
from nodusctl.engine.checkup import Area, DiskRoom, FileMode, HostFacts, host_areas, mended
from nodusctl.engine.checkup_providers import provider_areas
from nodusctl.engine.checkup_state import state_areas
from nodusctl.plugins.plugins import Plugins

_NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def _room(*, free_bytes: int = 50 * 2**30, is_writable: bool = True) -> DiskRoom:
    return DiskRoom(what="state folder", path="/srv/lab", free_bytes=free_bytes, is_writable=is_writable)


_HEALTHY = HostFacts(
    python=(3, 11, 2),
    platform="Linux",
    programs=(("ssh", "/usr/bin/ssh"), ("ssh-keygen", "/usr/bin/ssh-keygen")),
    rooms=(_room(),),
    modes=(FileMode(what="state key", path="/home/ada/state.key", mode=0o600),),
    now=_NOW,
    known_moment=_NOW - timedelta(days=30),
)


def _findings(facts: HostFacts) -> list[Diagnostic]:
    return list(mended(host_areas(facts)).findings)


def test_a_healthy_host_has_no_finding() -> None:
    checkup = mended(host_areas(_HEALTHY))
    assert checkup.findings == ()
    assert checkup.is_healthy


@pytest.mark.parametrize(
    ("ill", "code", "severity", "mends"),
    [
        ({"python": (3, 10, 9)}, "Unsupported", Severity.ERROR, "apt-get install python3"),
        ({"programs": (("ssh", ""),)}, "ProgramMissing", Severity.ERROR, "apt-get install openssh-client"),
        ({"rooms": (_room(free_bytes=2**30),)}, "DiskScarce", Severity.WARNING, "du -xh /srv/lab"),
        ({"rooms": (_room(free_bytes=2**20),)}, "DiskFull", Severity.ERROR, "du -xh /srv/lab"),
        ({"rooms": (_room(is_writable=False),)}, "NotWritable", Severity.ERROR, "chmod u+rwx /srv/lab"),
        ({"modes": (FileMode(what="state key", path="/k", mode=0o644),)}, "OpenToOthers", Severity.ERROR, "chmod 600 /k"),
        ({"known_moment": _NOW + timedelta(days=3)}, "ClockWrong", Severity.ERROR, "timedatectl set-ntp true"),
    ],
)
def test_each_illness_of_a_host_is_one_finding_with_the_command_that_mends_it(
    ill: dict[str, object], code: str, severity: Severity, mends: str
) -> None:
    (finding,) = _findings(replace(_HEALTHY, **ill))  # type: ignore[arg-type]
    assert (finding.code, finding.severity) == (code, severity)
    assert mends in finding.fix


def test_notes_leave_a_checkup_healthy_and_warnings_do_not() -> None:
    def with_one(finding: Diagnostic) -> bool:
        return mended([Area(kind="host", name="x", findings=(finding,))]).is_healthy

    assert with_one(note("Skipped", "said"))
    assert not with_one(warning("Locked", "held"))
    assert not with_one(error("Invalid", "wrong"))


def test_a_finding_that_forgot_its_fix_is_given_the_registered_one() -> None:
    (finding,) = mended([Area(kind="host", name="x", findings=(error("NoHardEdge", "said"),))]).findings
    assert finding.fix == "Choose a provider that can, or allow it."


def _of_state(world: World, **changes: object) -> list[Diagnostic]:
    facts = replace(_HEALTHY, now=datetime.now(UTC), **changes)  # type: ignore[arg-type]
    areas = state_areas(journal=world.state.journal, claims=world.state.claims, host=facts, has_own_time=True)
    return list(mended(areas).findings)


@pytest.fixture
def applied(tmp_path: Path) -> World:
    world = World(tmp_path / "lab").write(workspace_yaml(), HOME_YAML)
    world.apply()
    return world


def test_a_healthy_state_has_no_finding(applied: World) -> None:
    assert _of_state(applied) == []


def test_an_intent_left_open_is_a_warning_that_names_its_object(tmp_path: Path) -> None:
    world = World(tmp_path / "lab").write(workspace_yaml(), HOME_YAML)
    world.fault("create", "accept-then-drop", "workspace/lab", times=1)
    world.fault("find", "error Unavailable")
    world.apply(timeout=timedelta(seconds=30))
    findings = _of_state(world)
    assert [one.code for one in findings] == ["IntentUnsettled"]
    assert findings[0].address == "workspace/lab"
    assert "nodusctl apply" in findings[0].fix


def test_a_lock_held_for_long_is_a_warning_with_the_exact_unlock_command(applied: World) -> None:
    lock = applied.state.claims.take_plan_lock("nodusctl apply", timedelta(0))
    assert _of_state(applied) == []
    facts = replace(_HEALTHY, now=datetime.now(UTC) + timedelta(hours=1))
    areas = state_areas(journal=applied.state.journal, claims=applied.state.claims, host=facts, has_own_time=True)
    (finding,) = mended(areas).findings
    assert f"nodusctl unlock {lock}" in finding.fix
    applied.state.claims.drop_plan_lock(lock)


def test_a_clock_behind_the_last_operation_is_found_unless_the_time_is_simulated(applied: World) -> None:
    early = replace(_HEALTHY, now=_NOW - timedelta(days=300), known_moment=None)
    journal, claims = applied.state.journal, applied.state.claims
    assert [one.code for one in mended(state_areas(journal=journal, claims=claims, host=early, has_own_time=False)).findings] == [
        "ClockWrong"
    ]
    assert mended(state_areas(journal=journal, claims=claims, host=early, has_own_time=True)).findings == ()


def _plugins(tmp_path: Path, settings: dict[str, dict[str, object]]) -> Plugins:
    entries = [
        EntryPoint(name="simulated", value="nodus_providers.simulated.provider:SimulatedProvider", group="nodusctl.providers"),
        EntryPoint(name="lunar", value="a_module_that_is_not_there:Provider [lunar]", group="nodusctl.providers"),
    ]

    def no_context(instance: str) -> object:
        raise AssertionError("nothing is opened here")

    return Plugins(settings, no_context, entries)  # type: ignore[arg-type]


def test_a_plugin_without_its_dependency_is_found_by_type_with_the_pip_command(tmp_path: Path) -> None:
    checkup = mended(provider_areas(_plugins(tmp_path, {}), {}, "lunar"))
    assert [one.fix for one in checkup.findings] == ["pip install 'nodusctl[lunar]'"]
    assert not checkup.is_healthy


def test_an_instance_of_such_a_plugin_says_the_same_once(tmp_path: Path) -> None:
    providers = _plugins(tmp_path, {"moon": {"type": "lunar"}})
    for wanted in ("", "moon", "lunar"):
        checkup = mended(provider_areas(providers, {"moon": "lunar"}, wanted))
        assert [one.fix for one in checkup.findings] == ["pip install 'nodusctl[lunar]'"], wanted


def test_a_plugin_nobody_uses_is_mentioned_and_no_finding(tmp_path: Path) -> None:
    areas = list(provider_areas(_plugins(tmp_path, {}), {}, ""))
    assert [area.findings for area in areas] == [(), ()]
    assert any("not used by this project" in area.note for area in areas)


def test_an_unknown_provider_is_not_found_and_the_nearest_is_named(cli: CommandLine) -> None:
    ran = cli("doctor", "simm")
    assert ran.code is ExitCode.ERROR
    assert "Did you mean sim?" in ran.err


def test_doctor_without_programs_fails_with_one_diagnostic_a_finding(cli: CommandLine) -> None:
    cli.environment = {"PATH": "/nowhere"}
    ran = cli("doctor", "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    diagnostics = [line for line in lines if line["type"] == "diagnostic" and line["severity"] != "note"]
    assert ran.code is ExitCode.ERROR
    assert {one["code"] for one in diagnostics} - {"DiskScarce", "DiskFull"} == {"ProgramMissing"}, (
        "how full this disk is says nothing here"
    )
    assert all(one["fix"] for one in diagnostics)
    assert lines[-1]["code"] == 1


def test_doctor_on_a_faulty_project_file_still_looks_at_the_host(cli: CommandLine) -> None:
    cli.write("nodusctl.yaml", "proyect: lab\n")
    ran = cli("doctor")
    assert ran.code is ExitCode.ERROR
    assert "nodusctl.yaml:1:1" in ran.out
    assert "ssh" in ran.out
