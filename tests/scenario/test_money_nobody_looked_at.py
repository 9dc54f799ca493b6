"""A day without a tick: what a session comes to so far ends at the edge at which its machine ended itself, everywhere it is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money

UNCAPPED = LAB.replace('  maxCostUSD: "5.00"\n', "").replace("idleTimeout: 1h", "idleTimeout: 0s")


def receipt_of(cli: CommandLine) -> dict[str, Any]:
    lines = [json.loads(line) for line in cli("receipts", "--json").out.splitlines()]
    (found,) = next(line["receipts"] for line in lines if line["type"] == "result")
    return dict(found)


@pytest.mark.parametrize("text", [UNCAPPED, LAB], ids=["lease", "cap and idle"])
def test_so_far_is_never_above_the_hold_and_is_what_the_next_tick_settles_at_most(cli: CommandLine, text: str) -> None:
    cli.write("ws.yaml", text)
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "24h")
    unseen = receipt_of(cli)
    so_far, held = Money.parse(unseen["soFarUSD"]), Money.parse(unseen["heldUSD"])
    assert unseen["pastEdge"] is True
    assert Money(0) < so_far <= held < Money.parse("4.80"), "a day at $0.20 an hour"
    assert sum(Money.parse(one).micro for one in unseen["segments"].values()) == so_far.micro
    settled = unseen
    for _ in range(10):
        cli("tick")
        cli("sim", "advance", "2m")
        settled = settled if settled["final"] else receipt_of(cli)
        assert Money.parse(settled.get("soFarUSD", "0")) <= so_far
    assert settled["final"] and "pastEdge" not in settled
    assert Money.parse(settled["chargeUSD"]) <= so_far


def test_every_face_says_the_same_and_the_books_are_right(cli: CommandLine) -> None:
    cli.write("ws.yaml", UNCAPPED)
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "24h")
    so_far = Money.parse(receipt_of(cli)["soFarUSD"]).shown
    assert so_far == "$1.603333", "eight hours and the stop bound"
    one, table = cli("receipts").out, cli("receipts", "--csv").out
    assert f"{so_far} so far" in one and "open, past its edge" in one
    assert "open, past its edge" in table and "1.603333" in table
    assert so_far in cli("explain", "attempt/lab-1").out
    assert json.loads(cli("get", "ws/lab", "-o", "json").out)["status"]["cost"].get("rateUSDPerHour") in {None, "0.00"}
    verified = cli("receipts", "--verify")
    assert verified.code is ExitCode.DONE, verified.out
    assert "4.8" not in "".join(
        cli(*words).out for words in (("receipts",), ("cost",), ("describe", "ws/lab"), ("get", "ws", "-o", "wide"))
    )


def test_several_receipts_say_which_of_them_bill_and_which_are_past_their_edge(cli: CommandLine) -> None:
    cli.write("ws.yaml", UNCAPPED)
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "24h")
    cli.write("more.yaml", LAB.split("---")[0].replace("name: lab,", "name: more,").replace("  volume: lab-home\n", "  ephemeral: true\n"))
    assert cli("apply", "more.yaml", "--yes").code in {ExitCode.DONE, ExitCode.PARTIAL}
    shown = cli("receipts").out
    assert "Still billing at" in shown


def test_where_a_shutdown_ends_no_bill_so_far_goes_on(cli: CommandLine) -> None:
    world = cli.folder / "world.yaml"
    assert "selfStop:" in world.read_text()
    lines = [line for line in world.read_text().splitlines() if "selfStop:" not in line and "endsAt:" not in line]
    place = next(number for number, line in enumerate(lines) if line.startswith("billing:"))
    world.write_text("\n".join([*lines[: place + 1], "  selfStop: keeps-billing", "  endsAt: terminated", *lines[place + 1 :]]) + "\n")
    cli.write("ws.yaml", UNCAPPED)
    assert cli("apply", "--yes", "--accept-no-edge").code is ExitCode.DONE
    cli("sim", "advance", "24h")
    unseen = receipt_of(cli)
    assert Money.parse(unseen["soFarUSD"]) > Money.parse("4.80")
    assert "pastEdge" not in unseen
    assert cli("receipts", "--verify").code is ExitCode.DONE
