"""The sandbox as bubblewrap's words, what is probed of a computer, and what the doctor says of one that lacks something."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from nodus_providers.local import isolation as walls_module
from nodus_providers.local import probing
from nodus_providers.local.cgroups import Controllers, Parent, sweep_groups, writable_controllers
from nodus_providers.local.isolation import program_folders
from nodus_providers.local.provider import LocalProvider
from nodus_providers.local.sandbox import SandboxPlan, made_etc, sandbox_arguments
from nodusctl.base.diagnostics import Severity
from nodusctl.testing.conformance_hooks import a_context

PLAN = SandboxPlan(machine="m-1", folder=Path("/data/m-1"), vault="/dev/shm/v", home=Path("/data/d-1/live"), hostname="lab")


def words(**changes: object) -> list[str]:
    return list(sandbox_arguments(replace(PLAN, **changes), {"/bin": "usr/bin"}, "/run/resolv.conf"))  # type: ignore[arg-type]


def mounts(option: str, **changes: object) -> dict[str, str]:
    """Target → source of every mount made by one option."""
    found = words(**changes)
    return {found[place + 2]: found[place + 1] for place, word in enumerate(found) if word == option}


def test_the_system_is_read_only_and_only_home_and_tmp_of_the_machine_can_be_written() -> None:
    assert mounts("--bind") == {
        "/tmp": "/data/m-1/tmp",
        "/home/nodus": "/data/d-1/live",
        "/run/nodus/vault/jupyter": "/dev/shm/v/jupyter",
    }
    read_only = mounts("--ro-bind")
    assert (read_only["/usr"], read_only["/run/secrets"]) == ("/usr", "/dev/shm/v/secrets")
    assert words()[-4:] == ["--remount-ro", "/", "--chdir", "/home/nodus"]


def test_nothing_of_the_real_etc_that_names_people_is_shown() -> None:
    shown = {target for target in (*mounts("--ro-bind-try"), *mounts("--ro-bind")) if target.startswith("/etc")}
    assert not shown & {"/etc", "/etc/shadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id"}
    assert mounts("--ro-bind")["/etc/passwd"] == "/data/m-1/etc/system/passwd"


def test_no_group_tty_so_that_an_ordinary_user_gets_terminals() -> None:
    assert "tty" not in made_etc(PLAN)["group"]


def test_the_network_is_shared_only_where_egress_is_open() -> None:
    assert "--share-net" in words()
    assert "--share-net" not in words(shares_network=False)


def test_a_machine_without_cards_has_no_device_of_this_computer() -> None:
    assert mounts("--dev-bind-try") == {}
    assert mounts("--dev-bind-try", devices=("/dev/nvidia0",)) == {"/dev/nvidia0": "/dev/nvidia0"}


def test_the_machine_ends_with_its_keeper_and_sees_nothing_of_other_processes() -> None:
    assert {"--die-with-parent", "--unshare-all", "--clearenv"} <= set(words())


def test_programs_bring_their_installation_but_never_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tool/bin/jupyter-lab", "bin/code-server", "python/bin/python3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    programs = {"jupyter-lab": f"{tmp_path}/tool/bin/jupyter-lab", "code-server": f"{tmp_path}/bin/code-server"}
    boot = {"python": f"{tmp_path}/python/bin/python3", "sshd": {"program": "/usr/sbin/sshd"}, "programs": programs}
    shown = program_folders(boot)
    assert {f"{tmp_path}/tool", f"{tmp_path}/python", f"{tmp_path}/bin"} <= set(shown)
    assert str(tmp_path) not in shown
    assert not any(path.startswith("/usr") for path in shown)


def findings(tmp_path: Path, script: str | None, isolation: str = "auto", *, has_walls: bool = False) -> dict[str, tuple[Severity, str]]:
    """Summary → severity and fix, on a computer whose bwrap is ``script`` (None: there is none)."""
    tools = tmp_path / "tools"
    tools.mkdir()
    if script is not None:
        (tools / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tools / "bwrap").chmod(0o755)
    probing._tried.cache_clear()
    patch = pytest.MonkeyPatch()
    patch.setattr(probing, "_SYSTEM_PATH", str(tools))
    try:
        provider = LocalProvider.open(a_context(tmp_path, environment={"PATH": str(tools)}), {"isolation": isolation})
        assert provider.describe().egress_policies == frozenset({"Open", "Deny", "AllowList"} if has_walls else {"Open"})
        return {found.summary: (found.severity, found.fix) for found in provider.check()}
    finally:
        patch.undo()
        probing._tried.cache_clear()


def test_without_a_sandbox_the_plan_gets_a_note_that_says_why(tmp_path: Path) -> None:
    provider = LocalProvider.open(a_context(tmp_path), {"isolation": "off"})
    note, *_ = provider.describe().notes
    assert "not isolated" in note
    assert "the setting isolation is off" in note


@pytest.mark.parametrize(
    ("able", "noted", "walls"),
    [
        ((), ["memory: rlimit, for each process by itself", ": not limited"], "limits: memory"),
        (("memory", "cpu", "pids"), [], "limits: memory, cpu, pids: cgroup v2"),
    ],
    ids=["no cgroups", "cgroups"],
)
def test_the_plan_is_told_which_limits_do_not_hold_and_the_doctor_how_each_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: tuple[str, ...], noted: list[str], walls: str
) -> None:
    controllers = Controllers(parents={name: Parent(folder="/sys/fs/cgroup", version=2) for name in able})
    monkeypatch.setattr(walls_module, "host_controllers", lambda: controllers)
    described = LocalProvider.open(a_context(tmp_path), {"isolation": "off"}).describe()
    limits = [note for note in described.notes if "limit holds" in note]
    assert len(limits) == bool(noted)
    assert all(part in limits[0] for part in noted)
    assert described.walls.startswith("no sandboxes, egress Open, ")
    assert walls in described.walls


def test_launches_at_the_same_time_see_the_same_controllers() -> None:
    """Each looks by making a group of its own."""
    start = threading.Barrier(8)

    def look(_: int) -> Controllers:
        start.wait(10)
        return writable_controllers()

    with ThreadPoolExecutor(8) as threads:
        seen = list(threads.map(look, range(8)))
    assert all(one == seen[0] for one in seen)


def test_without_bubblewrap_the_doctor_says_how_to_install_it(tmp_path: Path) -> None:
    severity, fix = findings(tmp_path, None)["bubblewrap is not installed"]
    assert (severity, "    apt-get install bubblewrap" in fix) == (Severity.WARNING, True)


def test_where_isolation_is_required_its_lack_is_an_error(tmp_path: Path) -> None:
    assert findings(tmp_path, None, "required")["bubblewrap is not installed"][0] is Severity.ERROR


@pytest.mark.parametrize(
    ("switch", "mends"),
    [
        ("sysctl -w user.max_user_namespaces=15000", "Run as root:\n    sysctl -w user.max_user_namespaces=15000"),
        ("", "\n    docker run --security-opt seccomp=unconfined"),
    ],
    ids=["the kernel", "a container"],
)
def test_forbidden_user_namespaces_are_a_finding_with_what_allows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str, mends: str
) -> None:
    monkeypatch.setattr(probing, "namespace_fix", lambda: switch)
    script = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"
    assert mends in findings(tmp_path, script)["User namespaces can't be used"][1]


def test_network_namespaces_alone_may_be_missing(tmp_path: Path) -> None:
    script = 'case "$*" in *--share-net*) exit 0;; esac; echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1'
    assert "sysctl -w user.max_net_namespaces" in findings(tmp_path, script)["Egress can't be limited"][1]


def test_a_sandbox_without_terminals_is_a_finding(tmp_path: Path) -> None:
    script = 'case "$*" in *ptmx*) echo "cannot open /dev/ptmx: No space left on device" >&2; exit 1;; esac; exit 0'
    assert "sysctl -w kernel.pty.max" in findings(tmp_path, script, has_walls=True)["A sandbox gets no terminals"][1]


@pytest.mark.parametrize(
    ("switch", "value", "command"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        ("user/max_user_namespaces", "15000", ""),
    ],
    ids=["AppArmor", "old Debian", "a limit", "none"],
)
def test_the_fix_names_the_switch_that_forbids(tmp_path: Path, switch: str, value: str, command: str) -> None:
    (tmp_path / switch).parent.mkdir(parents=True)
    (tmp_path / switch).write_text(value + "\n")
    assert probing.namespace_fix(tmp_path) == command


def test_a_folder_where_the_kernel_makes_no_limits_is_not_taken_for_a_cgroup_and_nothing_is_left_there(tmp_path: Path) -> None:
    own = "user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope"
    (tmp_path / own).mkdir(parents=True)
    for folder in (tmp_path / own, *(tmp_path / own).parents):
        if folder.is_relative_to(tmp_path):
            (folder / "cgroup.subtree_control").write_text("memory cpu pids\n")
    found = writable_controllers(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n", f"0::/{own}\n")
    assert (dict(found.parents), found.killing) == ({}, "")
    assert not list(tmp_path.rglob("nodus-probe-*"))


def test_groups_of_crashed_launches_are_swept_once_they_are_old(tmp_path: Path) -> None:
    controllers = Controllers(killing=str(tmp_path))
    for name in ("nodus-m-old", "other-old"):
        (tmp_path / name).mkdir()
    made = (tmp_path / "nodus-m-old").stat().st_mtime
    sweep_groups(controllers, "nodus-", made + 60)
    assert (tmp_path / "nodus-m-old").is_dir()
    sweep_groups(controllers, "nodus-", made + 3600)
    assert [path.name for path in tmp_path.iterdir()] == ["other-old"]


def test_no_cgroup_file_system_means_no_controllers() -> None:
    found = writable_controllers("proc /proc proc rw 0 0\n", "0::/\n")
    assert (dict(found.parents), found.killing) == ({}, "")
