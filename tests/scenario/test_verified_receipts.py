"""``nodusctl receipts --verify`` on a real state: right as it was written, and every kind of tampering with the file is found.

A tamperer is somebody with the file and an SQLite shell, who first has to drop the triggers that refuse changes.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import LAB, NOW, SIMULATED, CommandLine
from support.history import multiply_history, session, write_history

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money, total


@pytest.fixture(scope="module")
def used_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lab ran for an hour and was stopped, was removed and made again, and runs now."""
    cli = CommandLine(tmp_path_factory.mktemp("used"))
    cli.write("nodusctl.yaml", SIMULATED)
    cli.write("ws.yaml", LAB)
    commands = (
        ("sim", "init", "--now", NOW),
        ("apply", "--yes"),
        ("sim", "advance", "1h"),
        ("stop", "lab"),
        ("destroy", "ws/lab", "--yes"),
        ("apply", "--yes"),
        ("sim", "advance", "10m"),
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATA", "STATE", "CACHE", "CONFIG"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp("user")))
        for words in commands:
            assert cli(*words).code is ExitCode.DONE
    return cli.folder


@pytest.fixture
def used(used_once: Path, tmp_path: Path) -> CommandLine:
    """The same project, to be done with as each test likes."""
    return CommandLine(shutil.copytree(used_once, tmp_path / "used"))


def _json(cli: CommandLine, *words: str) -> dict[str, Any]:
    lines = map(json.loads, cli(*words, "--json").out.splitlines())
    return next(line for line in lines if line["type"] in {"result", "verification"})


def _tamper(cli: CommandLine, *statements: str) -> None:
    """``{charge}`` and ``{held}`` stand for what the first Attempt was charged and the second holds, ``{charge_micro}`` for micro-USD."""
    first, second = _json(cli, "receipts")["receipts"]
    amounts = {"charge": first["chargeUSD"], "held": second["heldUSD"]}
    amounts |= {f"{name}_micro": Money.parse(amount).micro for name, amount in amounts.items()}
    with closing(sqlite3.connect(cli.folder / ".nodus" / "state.db")) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        changed = [connection.execute(_filled(statement, amounts)).rowcount for statement in statements]
    assert all(changed), "the tampering itself must change something"


def _filled(statement: str, amounts: dict[str, Any]) -> str:
    """Not ``format``: a body is JSON and full of braces."""
    for name, amount in amounts.items():
        statement = statement.replace(f"{{{name}}}", str(amount))
    return statement


def test_what_was_written_is_right_and_the_last_line_says_how_much(used: CommandLine) -> None:
    ran = used("receipts", "--verify")
    assert (ran.code, ran.err) == (ExitCode.DONE, "")
    charged = _json(used, "receipts")["receipts"][0]["chargeUSD"]
    assert ran.out.splitlines()[-1].startswith(f"2 receipts verified, ${charged}.")
    assert "2 quoted by the provider" in ran.out


def test_after_the_last_stop_everything_is_final(used: CommandLine) -> None:
    used("stop", "lab")
    charged = total(Money.parse(one["chargeUSD"]) for one in _json(used, "receipts")["receipts"])
    found = _json(used, "receipts", "--verify")
    assert (found["verified"], found["receipts"], found["open"]) == (True, 2, 0)
    assert found["chargedUSD"] == str(charged)


_EARLIER = 'UPDATE journal SET body = replace(body, \'"ended_at":"2026-10-26T08\', \'"ended_at":"2026-10-26T07\')'
_CHEAPER = 'SET body = replace(body, \'"rate_usd_per_hour":"0.20"\', \'"rate_usd_per_hour":"0.10"\')'
_CAPTURE = "UPDATE entries SET body = replace(body, '{charge}', '0.10') WHERE id LIKE '%capture/final'"
_TAMPERINGS = {
    "a capture made smaller in the entry": ((_CAPTURE,), {"PostingsDiffer", "ChargeDiffers", "StillHeld"}),
    "a capture made smaller in entry and postings": (
        (
            _CAPTURE,
            "UPDATE postings SET amount_micro = 100000 * sign(amount_micro) WHERE abs(amount_micro) = {charge_micro}",
        ),
        {"ChargeDiffers", "StillHeld"},
    ),
    "one side of a capture changed": (
        ("UPDATE entries SET body = replace(body, '\"{charge}\"', '\"0.10\"') WHERE id LIKE '%capture/final'",),
        {"RowDamaged", "ChargeDiffers", "StillHeld"},
    ),
    "the postings that caps are counted from": (
        ("UPDATE postings SET amount_micro = 1 WHERE side = 'charged'",),
        {"PostingsDiffer"},
    ),
    "postings given to another object": (
        ("UPDATE postings SET object_uid = 'somebody else' WHERE side = 'charged'",),
        {"PostingsDiffer"},
    ),
    "an entry taken away with its postings": (
        (
            "DELETE FROM postings WHERE entry_id LIKE '%release/final'",
            "DELETE FROM entries WHERE id LIKE '%release/final'",
        ),
        {"RowsGone", "StillHeld"},
    ),
    "an entry moved to another Attempt by its column": (
        ("UPDATE entries SET attempt_uid = 'ghost' WHERE id LIKE '%capture/final'",),
        {"RowDamaged", "AttemptUnknown", "PostingsDiffer", "ChargeDiffers", "StillHeld"},
    ),
    "the end of the machine in the journal": (
        (f"{_EARLIER} WHERE kind = 'CapacityEnded'",),
        {"ChargeDiffers", "ReceiptDiffers"},
    ),
    "an event that no longer is one": (
        ("UPDATE journal SET body = '{}' WHERE kind = 'CapacityEnded'",),
        {"RowDamaged", "EndUnknown", "ChargeDiffers", "ReceiptDiffers"},
    ),
    "an event taken away": (
        ("DELETE FROM journal WHERE kind = 'AttemptClosed'",),
        {"RowsGone", "ReceiptDiffers"},
    ),
    "the frozen rate in the journal": (
        (f"UPDATE journal {_CHEAPER} WHERE kind = 'TermsFrozen'",),
        {"ChargeDiffers", "ReceiptDiffers"},
    ),
    "the rate of the stored Attempt": (
        (f"UPDATE attempts {_CHEAPER}",),
        {"ReceiptDiffers"},
    ),
    "an Attempt taken away": (
        ("DELETE FROM attempts WHERE sequence = 1",),
        {"ReceiptDiffers"},
    ),
    "a hold of what still runs made smaller": (
        (
            "UPDATE entries SET body = replace(body, '{held}', '0.60') WHERE id LIKE '%hold/1'",
            "UPDATE postings SET amount_micro = CASE WHEN amount_micro < 0 THEN -600000 ELSE 600000 END WHERE entry_id LIKE '%hold/1'",
        ),
        {"HoldTooSmall", "StillHeld"},
    ),
}


@pytest.mark.parametrize("what", _TAMPERINGS)
def test_a_tampered_state_is_found_out(used: CommandLine, what: str) -> None:
    statements, expected = _TAMPERINGS[what]
    _tamper(used, *statements)
    ran = used("receipts", "--verify")
    assert ran.code is ExitCode.ERROR
    assert "LedgerUnsound" in ran.err
    found = _json(used, "receipts", "--verify")
    assert found["verified"] is False
    assert {one["difference"] for one in found["findings"]} == expected
    assert all(one["expected"] != one["found"] for one in found["findings"])


def test_a_finding_names_the_attempt_and_both_amounts(used: CommandLine) -> None:
    was = _json(used, "receipts")["receipts"][0]["chargeUSD"]
    _tamper(used, *_TAMPERINGS["a capture made smaller in entry and postings"][0])
    [found] = [one for one in _json(used, "receipts", "--verify")["findings"] if one["difference"] == "ChargeDiffers"]
    assert (found["attempt"], found["owner"], found["expected"]) == ("lab-1", "workspace/lab", f"${was}")
    assert found["found"].startswith("$0.10 ")


def test_a_damaged_row_stops_a_sum_instead_of_being_left_out_of_it(used: CommandLine) -> None:
    _tamper(used, *_TAMPERINGS["one side of a capture changed"][0])
    ran = used("cost")
    assert (ran.code, ran.out) == (ExitCode.ERROR, "")
    assert "nodusctl receipts --verify" in ran.err


def test_a_state_that_is_not_there_yet_has_nothing_to_verify(cli: CommandLine) -> None:
    ran = cli("receipts", "--verify")
    assert (ran.code, ran.out) == (ExitCode.DONE, "0 receipts verified, $0.00.\n")


def test_a_long_past_is_verified_as_it_was_stored(cli: CommandLine) -> None:
    """The generator of the benchmark, small: its sum is exact, also once SQLite has copied it."""
    path = cli.folder / ".nodus" / "state.db"
    path.parent.mkdir(exist_ok=True)
    charged = write_history(path, 0, pasts=[session(number) for number in range(40)])
    multiply_history(path, 3)
    assert cli("receipts", "--verify").out.splitlines()[-1] == f"120 receipts verified, {(charged * 3).shown}."


# The other faces of receipts


def test_receipts_as_csv_have_a_line_each_and_the_amounts_of_the_table(used: CommandLine) -> None:
    ran = used("receipts", "--csv")
    assert ran.out.endswith("\r\n")
    assert ran.out.count("\r\n") == ran.out.count("\n") == 3
    first, second = csv.DictReader(io.StringIO(ran.out))
    assert (first["charge_usd"], first["state"], first["billing_start"]) == (
        _json(used, "receipts")["receipts"][0]["chargeUSD"],
        "final",
        NOW,
    )
    assert first["end"].startswith("2026-10-26T08:00:")
    parts = [Money.parse(first[f"{name}_usd"]) for name in ("boot", "restore", "running", "teardown")]
    assert str(total(parts)) == first["charge_usd"]
    assert (second["state"], second["end"], second["charge_usd"]) == ("open", "", "0.00")
    assert float(second["so_far_usd"]) > 0


@pytest.mark.parametrize("words", [("--csv", "--json"), ("--csv", "--verify")])
def test_csv_is_a_form_of_its_own(used: CommandLine, words: tuple[str, ...]) -> None:
    assert used("receipts", *words).code is ExitCode.USAGE


def test_equal_names_carry_the_beginning_of_their_uid(used: CommandLine) -> None:
    uids = [one["attemptUID"] for one in _json(used, "receipts")["receipts"]]
    shown = used("receipts").out
    assert all(f"lab-1 ({uid[:8]})" in shown for uid in uids)


def test_one_name_of_several_attempts_explains_the_newest_and_names_the_others(used: CommandLine) -> None:
    older, newer = (one["attemptUID"] for one in _json(used, "receipts")["receipts"])
    newest = _json(used, "explain", "attempt/lab-1")
    assert newest["receipt"]["attemptUID"] == newer
    assert [one["attemptUID"] for one in newest["namesakes"]] == [older]
    assert f"nodusctl explain attempt/{older[:8]}" in used("explain", "attempt/lab-1").out
    for name in (older, older[:8]):
        assert _json(used, "explain", f"attempt/{name}")["receipt"]["attemptUID"] == older
