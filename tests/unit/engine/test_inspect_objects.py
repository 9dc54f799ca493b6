"""What get, describe and receipts say of a Workspace, held against the kinds' own status models and the ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money, total
from nodusctl.resources.kinds import KINDS


def document(cli: CommandLine, what: str) -> dict[str, Any]:
    ran = cli("get", what, "-o", "json")
    assert ran.code is ExitCode.DONE
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.fixture
def stopped(cli: CommandLine) -> CommandLine:
    """Applied, an hour used, stopped."""
    for words in (("apply", "--yes"), ("sim", "advance", "1h"), ("stop", "lab")):
        assert cli(*words).code is ExitCode.DONE
    return cli


@pytest.mark.parametrize("what", ["ws/lab", "vol/lab-home", "att/lab-1"])
def test_a_status_fits_the_schema_of_its_kind(stopped: CommandLine, what: str) -> None:
    shown = document(stopped, what)
    KINDS[shown["kind"]].status_model.model_validate(shown["status"])


def test_a_running_workspace_says_how_to_reach_it_and_what_it_costs(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    status = document(cli, "ws/lab")["status"]
    KINDS["Workspace"].status_model.model_validate(status)
    assert status["connect"]["ssh"]["command"] == "nodusctl ssh lab"
    assert status["connect"]["ssh"]["hostKey"].startswith("ssh-ed25519 ")
    assert status["session"]["rateUSDPerHour"] == status["cost"]["rateUSDPerHour"] == "0.20"
    assert "lastSession" not in status and "stopReason" not in status


def test_after_a_stop_the_session_is_over_and_the_money_adds_up(stopped: CommandLine) -> None:
    status = document(stopped, "ws/lab")["status"]
    assert status["phase"] == "Stopped" and status["stopReason"] == "Owner"
    assert "session" not in status
    assert status["home"]["revision"] == 1
    cost = status["cost"]
    assert cost["final"] is True and cost["heldUSD"] == "0.00"
    assert cost["totalUSD"] == status["lastSession"]["chargeUSD"]
    assert str(total(Money.parse(amount) for amount in cost["bySegment"].values())) == cost["totalUSD"]


def test_a_receipt_is_the_ledger_to_the_last_decimal(stopped: CommandLine) -> None:
    lines = [json.loads(line) for line in stopped("receipts", "lab", "--json").out.splitlines()]
    (receipt,) = lines[1]["receipts"]
    assert receipt["final"] is True
    assert receipt["chargeUSD"] == document(stopped, "ws/lab")["status"]["cost"]["totalUSD"]
    assert str(total(Money.parse(amount) for amount in receipt["segments"].values())) == receipt["chargeUSD"]


def test_the_host_key_is_the_same_in_every_session(stopped: CommandLine) -> None:
    before = document(stopped, "ws/lab")["status"]["connect"]["ssh"]["hostKey"]
    assert stopped("start", "lab").code is ExitCode.DONE
    assert document(stopped, "ws/lab")["status"]["connect"]["ssh"]["hostKey"] == before


def test_several_are_a_list_and_an_empty_selection_is_an_empty_list(stopped: CommandLine) -> None:
    whole = document(stopped, "ws,vol")
    assert whole["kind"] == "List"
    assert [one["kind"] for one in whole["items"]] == ["Workspace", "Volume"]
    empty = stopped("get", "ws", "-l", "team=nobody", "-o", "json")
    assert json.loads(empty.out)["items"] == []
    assert stopped("get", "ws", "-l", "team=nobody", "-o", "name").out == ""


def test_a_named_object_that_is_missing_is_exit_1_and_the_others_are_printed(stopped: CommandLine) -> None:
    ran = stopped("get", "ws", "lab", "lba", "-o", "name")
    assert ran.code is ExitCode.ERROR
    assert ran.out == "workspace/lab\n"
    assert "The nearest name is lab." in ran.err


def test_attempts_carry_the_label_of_their_owner(stopped: CommandLine) -> None:
    assert stopped("get", "attempts", "-l", "nodus.dev/workspace=lab", "-o", "name").out == "attempt/lab-1\n"
    assert stopped("get", "attempts", "-l", "nodus.dev/workspace=other", "-o", "name").out == ""


def test_an_attempt_says_what_it_was_chosen_from_and_what_was_expected(stopped: CommandLine) -> None:
    status = document(stopped, "att/lab-1")["status"]
    placement = status["placement"]
    assert (placement["profile"], placement["candidates"]) == ("Balanced", 4)
    explained = placement["explain"]
    assert [row["offer"] for row in explained["scores"]] == ["sim/us-1a/cpu-4c-16g-us", *explained["fallbacks"]]
    assert explained["scores"][0] == {"offer": "sim/us-1a/cpu-4c-16g-us", "usd": "0.213333", "startupP90": "1m"}
    assert status["predicted"] == {"costUSD": "1.601667", "hours": "8.0000", "interruptionRate": "0"}, "its lease and half the stop bound"
    assert "interruption" not in status and "supersededBy" not in status
    assert stopped("describe", "att/lab-1").code is ExitCode.DONE


def test_an_attempt_placed_under_an_earlier_plan_says_nothing_of_the_offers_of_a_later_one(stopped: CommandLine) -> None:
    stopped.write("ws.yaml", LAB.replace("memory: 16Gi", "memory: 30Gi"))
    assert stopped("apply", "--yes").code is ExitCode.DONE
    placement = document(stopped, "att/lab-1")["status"]["placement"]
    assert placement["offering"] == "cpu-4c-16g-us"
    assert "explain" not in placement and "candidates" not in placement


def test_a_lost_attempt_says_how_it_was_lost_and_what_goes_on_with_its_session(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 0s"))
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "10m", "--tick", "5m")
    assert cli("sim", "kill", "i-000001").code is ExitCode.DONE
    cli("sim", "advance", "10m", "--tick", "1m")
    lost, now = document(cli, "att/lab-1")["status"], document(cli, "att/lab-2")["status"]
    assert lost["supersededBy"] == "lab-2"
    assert lost["interruption"]["trigger"] and lost["interruption"]["recoverySeconds"] > 0
    assert now["phase"] == "Running"
    KINDS["Attempt"].status_model.model_validate(lost)


def test_what_get_prints_can_be_applied_again_without_a_change(stopped: CommandLine) -> None:
    whole = stopped("get", "ws,vol", "-o", "yaml").out
    items = stopped("get", "ws/lab", "-o", "yaml").out + "---\n" + stopped("get", "vol/lab-home", "-o", "yaml").out
    assert whole
    ran = stopped("plan", "--detailed-exitcode", "-f", "-", stdin=items)
    assert ran.code is ExitCode.DONE, ran.out


def test_readers_change_not_one_byte_of_the_state(stopped: CommandLine) -> None:
    state = stopped.folder / ".nodus" / "state.db"
    before = state.read_bytes()
    for words in (("get", "ws"), ("describe", "ws/lab"), ("receipts",), ("state", "show"), ("plan",), ("explain", "attempt/lab-1")):
        assert stopped(*words).code is ExitCode.DONE
    assert state.read_bytes() == before
