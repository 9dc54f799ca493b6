"""Faults that users of neighbouring tools reported, as a person would meet them here: one test a case, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money

OFFER = """
  - id: {id}
    instanceType: {id}
    zones: [{zone}]
    cpu: 64
    memory: 512Gi
    gpu: {{id: {card}, family: {family}, vendor: nvidia, memory: {memory}, count: {count}, nvlink: true}}
    {rate}
"""
ZONES = """zones:
  - {name: us-1a, region: us-1, regionClass: us}
  - {name: eu-1a, region: eu-1, regionClass: eu}
offers:"""


def offer(name: str, zone: str, card: str, *, memory: str, count: int, rate: str) -> str:
    priced = f'rateUSDPerHour: "{rate}"' if rate else "capacity: 4"
    return OFFER.format(id=name, zone=zone, card=card, family=card.split("-", maxsplit=1)[0], memory=memory, count=count, rate=priced)


def test_case_1_a_plan_is_applied_once_and_the_second_apply_touches_nothing(cli: CommandLine) -> None:
    assert cli("plan", "-f", "ws.yaml", "-o", "p.nodusplan").code is ExitCode.DONE
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    before = (cli.folder / ".nodus" / "state.db").read_bytes()
    again = cli("apply", "p.nodusplan")
    assert again.code is ExitCode.REFUSED
    assert "already applied" in again.err
    assert (cli.folder / ".nodus" / "state.db").read_bytes() == before
    assert cli("sim", "calls", "--op", "create", "--count").out == "1\n"


def test_case_3_an_applied_plan_can_still_be_shown_with_a_warning(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    first = cli("show", "p.nodusplan")
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    shown, as_json = cli("show", "p.nodusplan"), cli("show", "p.nodusplan", "--json")
    assert shown.code is as_json.code is ExitCode.DONE
    assert shown.out == first.out
    assert shown.err.count("warning[") == 1
    assert json.loads(as_json.out)["stale"]


def test_case_7_the_code_says_changes_exactly_when_the_text_does(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "3h")
    calm = cli("plan", "--detailed-exitcode")
    assert calm.code is ExitCode.DONE
    assert "No changes" in calm.out
    cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 2h"))
    edited = cli("plan", "--detailed-exitcode")
    assert edited.code is ExitCode.CHANGES
    assert "1 to change" in edited.out
    cli("sim", "fault", "add", "--op", "price", "--effect", "error Unavailable message down")
    unreachable = cli("plan", "--detailed-exitcode")
    assert unreachable.code is ExitCode.BLOCKED
    assert "blocked[ProviderNotReady]" in unreachable.out
    assert cli("plan", "--detailed-exitcodes").code is ExitCode.USAGE


@pytest.mark.parametrize(("edits", "resizes"), [(True, False), (False, True), (True, True)])
def test_case_8_a_changed_machine_is_drift_a_changed_file_is_not_and_a_plan_sees_both(cli: CommandLine, edits: bool, resizes: bool) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    if edits:
        cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 2h"))
    if resizes:
        assert cli("sim", "resize", "i-000001", "cpu-8c-32g-us").code is ExitCode.DONE
    state = cli.folder / ".nodus" / "state.db"
    before = (state.read_bytes(), state.stat().st_mtime_ns)
    found = cli("drift")
    assert found.code is (ExitCode.DRIFT if resizes else ExitCode.DONE)
    assert ("memory is 32Gi and was 16Gi" in found.out) is resizes
    assert (state.read_bytes(), state.stat().st_mtime_ns) == before
    assert cli("plan", "--detailed-exitcode").code is ExitCode.CHANGES


def test_case_8_applying_the_plan_brings_the_approved_hardware_back(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli("sim", "resize", "i-000001", "cpu-8c-32g-us")
    assert "machine.memory  32Gi -> 16Gi" in cli("plan").out
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert cli("sim", "machines", "-o", "name").out == "i-000002\n"
    assert cli("drift").code is ExitCode.DONE
    assert cli("plan", "--detailed-exitcode").code is ExitCode.DONE


def test_case_10_a_rename_is_hinted_at_and_with_the_annotation_touches_nothing_outside(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    before = json.loads(cli("get", "ws/lab", "-o", "json").out)["metadata"]["uid"]
    calls = {operation: cli("sim", "calls", "--op", operation, "--count").out for operation in ("create", "delete", "detach", "save")}
    renamed = LAB.replace("{name: lab,", "{name: lab2,")
    cli.write("ws.yaml", renamed)
    planned = cli("plan")
    assert "Plan: 1 to create, 1 to remove." in planned.out
    assert "moved-from: lab" in planned.out
    cli.write("ws.yaml", renamed.replace("{name: lab2,", "{name: lab2, annotations: {nodus.dev/moved-from: lab},"))
    assert "Plan: 1 moved." in cli("plan").out
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert cli("plan", "--detailed-exitcode").code is ExitCode.DONE
    assert json.loads(cli("get", "ws/lab2", "-o", "json").out)["metadata"]["uid"] == before
    assert {operation: cli("sim", "calls", "--op", operation, "--count").out for operation in calls} == calls


def test_case_14_warm_workers_count_for_the_function_and_their_idle_cost_is_printed(cli: CommandLine) -> None:
    function = (
        "apiVersion: nodus.dev/v1\nkind: Function\nmetadata: {name: embed}\nspec:\n  code: {module: app, qualname: Emb, "
        'cls: {name: Emb, methods: [embed, rank]}}\n  python: "3.12"\n  resources: {gpu: L4}\n  scaling: {minWorkers: 2}\n'
    )
    cli.write("ws.yaml", function)
    planned = cli("plan")
    assert "warm capacity 2 x $1.10/h = $1,606.00 per 730 h" in planned.out
    assert "at most 10 workers at once" in planned.out
    plan = next(line for line in map(json.loads, cli("plan", "--json").out.splitlines()) if line["type"] == "plan")
    estimate = plan["costs"][0]["estimate"]
    assert Money.parse(estimate["concurrentHoldUSD"]) == Money(10 * Money.parse(estimate["holdUSD"]).micro)
    for wrong in ("maxWorkers: 1001", "minWorkers: 11"):
        cli.write("ws.yaml", function.replace("minWorkers: 2", wrong))
        refused = cli("validate")
        assert refused.code is ExitCode.ERROR
        assert "ws.yaml:8:" in refused.err


def test_case_11_what_changes_by_itself_is_never_a_change(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "fault", "add", "--op", "get", "--effect", "noise")
    cli("sim", "fault", "add", "--op", "price", "--effect", "noise")
    plans = [cli("plan", "--detailed-exitcode") for _ in range(3)]
    assert {one.code for one in plans} == {ExitCode.DONE}
    assert len({one.out for one in plans}) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("memory: 16Gi", "memory: 16384Mi"),
        ("cpu: 4", 'cpu: "4"'),
        ("cpu: 4", "cpu: 4000m"),
        ("idleTimeout: 1h", "idleTimeout: 60m"),
        ('maxCostUSD: "5.00"', 'maxCostUSD: "5"'),
        ("spec: {size: 50Gi}", "spec: {size: 51200Mi}"),
        ("spec: {size: 50Gi}", "spec: {size: 50Gi, deletionPolicy: Retain}"),
    ],
)
def test_case_18_another_spelling_of_the_same_is_no_change(cli: CommandLine, before: str, after: str) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert before in LAB
    cli.write("ws.yaml", LAB.replace(before, after))
    assert cli("plan", "--detailed-exitcode").code is ExitCode.DONE


def test_case_18_a_size_the_platform_rounds_is_no_change(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB.replace("spec: {size: 50Gi}", "spec: {size: 1100000000}"))
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert [cli("plan", "--detailed-exitcode").code for _ in range(2)] == [ExitCode.DONE, ExitCode.DONE]


def test_case_19_a_login_key_takes_effect_at_once_and_an_image_at_the_next_start(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0fAbmkVD1OgAWnXPXSAmeqhUdlwXjw5RKO/YsHE1uc ada"
    cli.write("key.yaml", f"apiVersion: nodus.dev/v1\nkind: SSHKey\nmetadata: {{name: ada}}\nspec: {{publicKey: '{key}'}}\n")
    cli.write(
        "ws.yaml", LAB.replace("  tools: [SSH]", "  tools: [SSH]\n  sshKeys: [ada]").replace("workspace-cpu", "workspace-pytorch-cuda")
    )
    planned = cli("plan")
    (line,) = (line for line in planned.out.splitlines() if "spec.image" in line)
    assert "takes effect at the next start" in line
    pushes = int(cli("sim", "calls", "--op", "agent", "--count").out)
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert int(cli("sim", "calls", "--op", "agent", "--count").out) > pushes, "the running machine got the key"
    assert cli("sim", "calls", "--op", "create", "--count").out == "1\n"


def test_case_25_an_unknown_price_blocks_and_is_in_no_sum(cli: CommandLine) -> None:
    eu = offer("h100-sxm-80g-x8-eu", "eu-1a", "h100-sxm", memory="80Gi", count=8, rate="")
    us = offer("h100-sxm-80g-x8-us", "us-1a", "h100-sxm", memory="80Gi", count=8, rate="35.20")
    cli.write("world.yaml", ZONES + us + eu)
    spec = LAB.replace("{cpu: 4, memory: 16Gi}", '{gpu: "H100:8"}').replace('  maxCostUSD: "5.00"\n', "")
    cli.write("ws.yaml", spec.replace("  volume: lab-home", "  volume: lab-home\n  placement: {regions: [eu]}"))
    planned = cli("plan")
    assert planned.code is ExitCode.BLOCKED
    assert "blocked[PriceUnknown]" in planned.out
    assert "h100-sxm-80g-x8-us at $35.20/h" in planned.out
    (total,) = (line for line in planned.out.splitlines() if line.strip().startswith("Total"))
    assert "at least" in total
    assert "-$" not in planned.out


def test_case_33_no_offer_says_which_wish_removed_how_many_and_what_would_help(cli: CommandLine) -> None:
    shapes = [("h100-sxm", "80Gi", 8), ("h100-sxm", "80Gi", 1), ("l4", "24Gi", 1)]
    places = [("us", "us-1a"), ("eu", "eu-1a")]
    offers = [
        offer(f"{card}-{memory.removesuffix('Gi')}g-x{count}-{region}", zone, card, memory=memory, count=count, rate=f"{count * 4}.40")
        for card, memory, count in shapes
        for region, zone in places
    ]
    cli.write("world.yaml", ZONES + "".join(offers))
    wanted = "{gpu: {type: [H100], count: 8, minMemory: 100Gi}}"
    spec = LAB.replace("{cpu: 4, memory: 16Gi}", wanted).replace(
        "  tools: [SSH]", '  tools: [SSH]\n  placement: {maxRateUSDPerHour: "2.00", regions: [eu]}'
    )
    cli.write("ws.yaml", spec)
    planned = cli("plan")
    assert planned.code is ExitCode.BLOCKED
    assert "6 -> family 4 -> count 2 -> memory 0" in planned.out
    assert "minMemory 80Gi gives 2 offers" in planned.out
    applied = cli("apply", "--yes")
    assert applied.code is ExitCode.BLOCKED
    assert cli("sim", "calls", "--op", "create", "--count").out == "0\n"


@pytest.mark.parametrize("price", ["0", "NaN", "-1", "1e309", '"2,50"'])
def test_case_25_a_price_that_is_none_is_refused_with_its_line(cli: CommandLine, price: str, tmp_path: Path) -> None:
    from nodusctl.pricing.rows import parse_rows

    shipped = next(Path(__file__).parents[2].joinpath("nodusctl/catalog/data").glob("lambda*.csv")).read_text(encoding="utf-8").splitlines()
    head, row = shipped[0], shipped[1].split(",")
    row[head.split(",").index("on_demand_usd_hour")] = price
    rows, faults = parse_rows("\n".join([head, ",".join(row)]) + "\n", "own.csv")
    assert not rows
    assert [(fault.span.line if fault.span else 0) for fault in faults] == [2]


def test_case_28_a_machine_deleted_in_the_console_is_drift_and_its_session_closes_when_it_was_last_seen(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 0s"))
    cli("apply", "--yes")
    cli("sim", "advance", "10m", "--tick", "5m")
    cli("sim", "advance", "20m")
    for operation in ("get", "list", "delete"):
        cli("sim", "fault", "add", "--op", operation, "--match", "workspace/lab", "--effect", "gone")
    found = cli("drift")
    assert found.code is ExitCode.DRIFT
    assert "machine gone (last seen 2026-10-26T07:10:45Z)" in found.out
    planned = cli("plan")
    assert "recover its session on another machine, its home is kept (machine gone)" in planned.out
    assert cli("delete", "workspace/lab", "--yes").code is ExitCode.DONE
    receipts = cli("receipts", "--json").out
    assert "2026-10-26T07:10:45" in receipts
    assert '"estimated": true' in receipts
    assert cli("receipts", "--verify").code is ExitCode.DONE


def test_case_28_a_machine_that_may_not_be_read_is_not_gone(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli("sim", "advance", "10m")
    cli("sim", "fault", "add", "--op", "get", "--match", "workspace/lab", "--effect", "forbidden")
    found = cli("drift")
    assert found.code is ExitCode.DRIFT
    assert "Unreadable" in found.out
    assert "MachineGone" not in found.out
