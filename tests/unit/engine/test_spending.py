"""``cost``: the ledger summed four ways, always to the same total."""

from __future__ import annotations

import json

import pytest
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.engine.spending import CostGroup, GroupBy, Spending
from nodusctl.render.spending import bar, spending_text
from nodusctl.render.style import Style

_BENCH = LAB.split("---")[0].replace("name: lab, labels: {team: vision}", "name: bench, labels: {team: speech}")
_OTHER = _BENCH.replace("volume: lab-home", "ephemeral: true")

_ONE = Spending(by=GroupBy.OBJECT, label="", groups=(CostGroup(name="workspace/lab", charged_usd=Money(1), held_usd=Money(0), attempts=1),))


@pytest.fixture
def used(cli: CommandLine) -> CommandLine:
    """Two Workspaces; lab runs twice on two days, bench once and is removed."""
    cli.write("bench.yaml", _OTHER)
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "1h")
    assert cli("stop", "lab").code is ExitCode.DONE
    assert cli("stop", "bench").code is ExitCode.DONE
    (cli.folder / "bench.yaml").unlink()
    assert cli("delete", "ws/bench", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "24h")
    assert cli("start", "lab").code is ExitCode.DONE
    cli("sim", "advance", "2h")
    assert cli("stop", "lab").code is ExitCode.DONE
    return cli


def _cost(cli: CommandLine, *words: str) -> dict[str, object]:
    ran = cli("cost", *words, "--json")
    assert ran.code is ExitCode.DONE, ran.out
    found: dict[str, object] = json.loads(ran.out.splitlines()[1])
    return found


def test_every_grouping_sums_to_what_the_receipts_say(used: CommandLine) -> None:
    receipts = json.loads(used("receipts", "--json").out.splitlines()[1])["receipts"]
    micro = sum(round(float(one["chargeUSD"]) * 10**6) for one in receipts)
    for by in ("object", "day", "offering", "label", "label=team"):
        found = _cost(used, "--by", by)
        assert round(float(str(found["chargedUSD"])) * 10**6) == micro, by
        groups = found["groups"]
        assert isinstance(groups, list)
        assert sum(round(float(group["chargedUSD"]) * 10**6) for group in groups) == micro, by


def test_groups_are_named_for_what_they_are(used: CommandLine) -> None:
    def names(by: str) -> list[str]:
        groups = _cost(used, "--by", by)["groups"]
        assert isinstance(groups, list)
        return [group["name"] for group in groups]

    assert names("object") == ["workspace/lab", "workspace/bench"]
    assert names("day") == ["2026-10-26", "2026-10-27"]
    assert names("label=team") == ["team=vision", "(removed objects)"]
    assert names("label=owner") == ["(no such label)", "(removed objects)"]
    assert set(names("offering")) == {"cpu-4c-16g-us"}


def test_one_object_alone_also_a_removed_one(used: CommandLine) -> None:
    assert [group["name"] for group in _cost(used, "workspace/bench")["groups"]] == ["workspace/bench"]  # type: ignore[attr-defined]


def test_what_still_runs_is_held_and_belongs_to_no_day(cli: CommandLine) -> None:
    cli("apply", "--yes")
    found = _cost(cli, "--by", "day")
    assert found["groups"] == []
    assert found["chargedUSD"] == "0.00"
    assert float(str(found["heldUSD"])) > 0


def test_a_period_counts_what_was_posted_in_it_and_holds_nothing(used: CommandLine) -> None:
    whole, first, second = (_cost(used, *words) for words in ((), ("--until", "2026-10-26"), ("--since", "2026-10-27")))
    amounts = [round(float(str(one["chargedUSD"])) * 10**6) for one in (whole, first, second)]
    assert amounts[0] == amounts[1] + amounts[2]
    assert min(amounts) > 0
    assert _cost(used, "--month", "2026-10")["chargedUSD"] == whole["chargedUSD"]
    assert used("cost", "--month", "2026-11").out == "Nothing was charged from 2026-11-01T00:00:00Z before 2026-12-01T00:00:00Z.\n"
    used("start", "lab")
    assert _cost(used, "--since", "2026-10-26")["heldUSD"] == "0.00"


def test_the_csv_has_a_line_a_group_and_the_same_amounts(used: CommandLine) -> None:
    ran = used("cost", "--csv", "--by", "label=team")
    assert ran.out.startswith("by,name,sessions,charged_usd,held_usd\r\nlabel,team=vision,2,")
    amounts = [line.split(",")[3] for line in ran.out.split("\r\n")[1:-1]]
    assert sum(round(float(amount) * 10**6) for amount in amounts) == round(float(str(_cost(used)["chargedUSD"])) * 10**6)


def test_estimates_are_compared_with_what_came(used: CommandLine) -> None:
    found = json.loads(used("cost", "--estimates", "--json").out.splitlines()[1])["estimates"]
    assert [(one["object"], one["sessions"], one["verdict"]) for one in found] == [
        ("workspace/bench", 1, "too few to say"),
        ("workspace/lab", 2, "too few to say"),
    ]
    assert found[1]["starts"]["predicted"] == {"p50": "45s", "p90": "1m"}
    charged = sum(round(float(one["actualUSD"]) * 10**6) for one in found)
    assert charged == round(float(str(_cost(used)["chargedUSD"])) * 10**6)
    assert used("cost", "--estimates", "--csv").out.count("\r\n") == 3


@pytest.mark.parametrize("words", [("--csv", "--json"), ("--estimates", "--by", "day"), ("--since", "then")])
def test_options_that_contradict_each_other_are_a_usage_error(cli: CommandLine, words: tuple[str, ...]) -> None:
    assert cli("cost", *words).code is ExitCode.USAGE


@pytest.mark.parametrize("by", ["week", "", "day=team"])
def test_another_grouping_is_a_usage_error(cli: CommandLine, by: str) -> None:
    assert cli("cost", "--by", by).code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("amount", "largest", "width", "shown"),
    [(0, 100, 10, ""), (100, 100, 10, "█" * 10), (50, 100, 10, "█" * 5), (1, 1000, 10, "▏"), (55, 100, 10, "█████▌"), (5, 0, 10, "")],
)
def test_a_bar_is_the_share_of_the_largest_and_something_always_shows(amount: int, largest: int, width: int, shown: str) -> None:
    assert bar(amount, largest, width) == shown


@pytest.mark.parametrize(("amount", "shown"), [(0, ""), (100, "##########"), (55, "#####"), (1, "#")])
def test_where_blocks_can_not_be_shown_a_bar_is_plain_ascii(amount: int, shown: str) -> None:
    assert bar(amount, 100, 10, has_blocks=False) == shown


def test_a_pipe_gets_plain_ascii_and_a_terminal_blocks(used: CommandLine) -> None:
    assert "#" in used("cost").out
    assert used("cost").out.isascii()
    assert "█" in spending_text(_ONE, Style(has_blocks=True))
