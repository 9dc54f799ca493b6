"""What leaves a machine under each egress policy, and that people still get in."""

from __future__ import annotations

import subprocess
from http.server import ThreadingHTTPServer

import pytest
from machine_kit import MachineKit, eventually

from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Refused
from nodusctl.provider.requests import Egress
from nodusctl.testing.conformance_hooks import done

pytestmark = pytest.mark.local

CURL = "curl -sS -m 10 -o /dev/null -w '%{http_code} %{http_connect}' "
DIRECTLY = CURL + "--noproxy '*' "


def ran(kit: MachineKit, machine: Machine, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(kit.login(machine, command), capture_output=True, text=True, timeout=60, check=False)


def test_an_open_machine_reaches_what_this_computer_reaches(kit: MachineKit, server: ThreadingHTTPServer) -> None:
    machine = kit.launched()
    assert ran(kit, machine, f"{CURL} http://127.0.0.1:{server.server_port}/").stdout == "200 000"


def test_a_denied_machine_has_nothing_but_its_own_loopback_and_people_get_in(kit: MachineKit, server: ThreadingHTTPServer) -> None:
    machine = kit.launched(egress=Egress(policy="Deny"))
    assert ran(kit, machine, "tail -n +3 /proc/net/dev | cut -d: -f1").stdout.split() == ["lo"]
    assert ran(kit, machine, f"{CURL} http://127.0.0.1:{server.server_port}/").returncode != 0
    assert ran(kit, machine, f"{CURL} http://1.1.1.1/").returncode != 0
    assert server.asked == []  # type: ignore[attr-defined]
    assert done(kit.ask(machine, AgentCommand.READY)).ready_at is not None
    # What listens inside is reached through ssh, as JupyterLab is.
    inside = "python3 -m http.server -b 127.0.0.1 7777 >/dev/null 2>&1 & "
    inside += "until curl -s -o /dev/null http://127.0.0.1:7777/; do sleep 0.1; done; "
    inside += "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:7777/; kill $!"
    assert ran(kit, machine, inside).stdout == "200"


@pytest.mark.parametrize(
    ("url", "answer", "asked"),
    [
        ("http://mirror.test:{port}/simple/", "200 000", ["mirror.test:{port}/simple/"]),
        ("http://below.mirror.test:{port}/", "403 000", []),
        ("http://127.0.0.1:{port}/", "", []),
        ("http://169.254.169.254/latest/meta-data/", "403 000", []),
        ("https://elsewhere.test/", "000 403", []),
    ],
    ids=["an allowed name", "a name below an allowed one", "this computer's loopback", "metadata", "https elsewhere"],
)
def test_only_listed_names_are_let_out(kit: MachineKit, server: ThreadingHTTPServer, url: str, answer: str, asked: list[str]) -> None:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)))
    port = str(server.server_port)
    seen = ran(kit, machine, CURL + url.replace("{port}", port))
    # The loopback is the machine's own and not proxied; nothing listens there.
    assert seen.stdout == answer or (not answer and seen.returncode == 7), seen
    assert server.asked == [line.replace("{port}", port) for line in asked]  # type: ignore[attr-defined]


def test_a_suffix_lets_out_what_is_below_it_and_not_itself(kit: MachineKit, server: ThreadingHTTPServer) -> None:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("*.mirror.test",)))
    assert ran(kit, machine, f"{CURL} http://below.mirror.test:{server.server_port}/").stdout.startswith("200")
    assert ran(kit, machine, f"{CURL} http://mirror.test:{server.server_port}/").stdout.startswith("403")


def test_what_was_refused_stands_in_the_machines_log_with_its_reason(kit: MachineKit) -> None:
    """A program often shows of a refused tunnel no more than its status."""
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)))
    ran(kit, machine, f"{CURL} https://elsewhere.test/")
    assert "egress denied: elsewhere.test is not in network.egress.allow" in done(kit.provider.console(machine.id))


def test_a_client_that_ignores_the_proxy_reaches_nothing(kit: MachineKit, server: ThreadingHTTPServer) -> None:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)))
    assert ran(kit, machine, f"{DIRECTLY} http://mirror.test:{server.server_port}/").returncode != 0
    assert ran(kit, machine, f"{DIRECTLY} http://127.0.0.1:{server.server_port}/").returncode != 0
    assert ran(kit, machine, f"{DIRECTLY} --resolve mirror.test:80:1.1.1.1 http://mirror.test/").returncode != 0
    assert server.asked == []  # type: ignore[attr-defined]


def test_a_killed_proxy_or_relay_is_started_again(kit: MachineKit, server: ThreadingHTTPServer) -> None:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)))
    for name in ("egress_proxy", "agent.relay"):
        (pid,) = [pid for pid, command in kit.running(machine.id).items() if name in command]
        subprocess.run(["kill", "-9", str(pid)], check=True)
    url = f"http://mirror.test:{server.server_port}/"
    eventually(lambda: True if ran(kit, machine, CURL + url).stdout.startswith("200") else None, "both are back")


def test_what_an_ended_machine_left_outside_its_sandbox_is_nothing(kit: MachineKit) -> None:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)))
    kit.release(machine.id)
    assert kit.running(machine.id) == {}


def test_an_unknown_preset_is_refused_with_those_there_are(kit: MachineKit) -> None:
    refused = kit.provider.launch(kit.a_request(egress=Egress(policy="AllowList", presets=("pypi",))))
    assert isinstance(refused, Refused)
    assert "python-packages" in refused.message


def test_where_nothing_can_be_enforced_a_policy_is_not_promised_and_a_launch_with_it_is_refused(kit: MachineKit) -> None:
    plain = MachineKit(kit.tmp_path, isolation="off")
    assert plain.provider.describe().egress_policies == frozenset({"Open"})
    refused = plain.provider.launch(plain.a_request(egress=Egress(policy="Deny")))
    assert isinstance(refused, Refused)
    assert refused.code == "Unsupported"
    assert done(plain.provider.list()).machines == ()


def test_the_edge_ends_a_machine_without_network(kit: MachineKit) -> None:
    machine = kit.launched(edge_seconds=10, egress=Egress(policy="Deny"))
    eventually(lambda: True if kit.seen(machine).state is MachineState.STOPPED else None, "the edge", 60)
    eventually(lambda: True if kit.running(machine.id) == {} else None, "its keeper, which wrote that down, ends too")
