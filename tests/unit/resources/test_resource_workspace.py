"""The rules of a Workspace: one home, limits, short forms, canonical spelling, contradictions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from nodusctl.base.ids import Address
from nodusctl.resources.decode import Decoded

NOW = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lines", "reason", "place", "field"),
    [
        (("image: x",), "FieldValueRequired", "a.yaml:4:1", "spec.volume"),
        (("volume: v", "image: x", "ephemeral: true"), "Invalid", "a.yaml:7:14", "spec.ephemeral"),
        (("ephemeral: true", "image: x", "volume: v"), "Invalid", "a.yaml:7:11", "spec.volume"),
        (("ephemeral: true", "resources: {nodes: 2}"), "Invalid", "a.yaml:6:22", "spec.resources.nodes"),
        (("ephemeral: true", "idleTimeout: 9m"), "Invalid", "a.yaml:6:16", "spec.idleTimeout"),
        (("ephemeral: true", "idleTimeout: 25h"), "Invalid", "a.yaml:6:16", "spec.idleTimeout"),
        (
            ("ephemeral: true", "network: {egress: {allow: [a.example], policy: Open}}"),
            "Invalid",
            "a.yaml:6:50",
            "spec.network.egress.policy",
        ),
        (("ephemeral: true", "network: {egress: {allow: [a.example]}}"), "Invalid", "a.yaml:6:29", "spec.network.egress.allow"),
        (
            ("ephemeral: true", "network: {egress: {policy: AllowList, allow: ['*']}}"),
            "Invalid",
            "a.yaml:6:49",
            "spec.network.egress.allow[0]",
        ),
        (
            ("ephemeral: true", "network: {egress: {policy: AllowList, allow: [10.0.0.1]}}"),
            "Invalid",
            "a.yaml:6:49",
            "spec.network.egress.allow[0]",
        ),
        (
            ("ephemeral: true", "network: {egress: {policy: AllowList, presets: [python-package]}}"),
            "NotSupported",
            "a.yaml:6:51",
            "spec.network.egress.presets[0]",
        ),
        (("ephemeral: true", "network: {egress: {presets: [github]}}"), "Invalid", "a.yaml:6:31", "spec.network.egress.presets"),
        (("ephemeral: true", "tools: [VSCode, Vim]"), "NotSupported", "a.yaml:6:19", "spec.tools[1]"),
        (("ephemeral: true", "tools: [SSH, SSH]"), "Duplicate", "a.yaml:6:16", "spec.tools[1]"),
        (("ephemeral: true", "imagePullSecrets: [a, b, c, d, e]"), "Invalid", "a.yaml:6:21", "spec.imagePullSecrets"),
        (("ephemeral: true", "secrets: [a, {name: a}]"), "Duplicate", "a.yaml:6:23", "spec.secrets[1].name"),
        (("ephemeral: true", "env: [{name: A}]"), "FieldValueRequired", "a.yaml:6:9", "spec.env[0].value"),
        (("ephemeral: true", "env: [{name: 1A, value: x}]"), "Invalid", "a.yaml:6:16", "spec.env[0].name"),
        (("ephemeral: true", "env: [{name: A, value: x}, {name: A, value: y}]"), "Duplicate", "a.yaml:6:37", "spec.env[1].name"),
        (("ephemeral: true", "placement: {dedicated: false}"), "NotSupported", "a.yaml:6:26", "spec.placement.dedicated"),
        (("ephemeral: true", "image: nodus/workspace-gpu"), "NotSupported", "a.yaml:6:10", "spec.image"),
        (("ephemeral: true", "image: "), "Invalid", "a.yaml:6:3", "spec.image"),
        (("ephemeral: true", "resources: {gpu: {type: H100}}"), "Invalid", "a.yaml:6:27", "spec.resources.gpu.type"),
        (("ephemeral: true", "resources: {gpu: 'H100:3'}"), "NotSupported", "a.yaml:6:20", "spec.resources.gpu.count"),
        (("ephemeral: true", "resources: {gpu: 'H100:x'}"), "Invalid", "a.yaml:6:20", "spec.resources.gpu"),
        (("ephemeral: true", "schedule: {}"), "FieldValueRequired", "a.yaml:6:3", "spec.schedule.readyBy"),
        (("ephemeral: true", "schedule: {readyBy: tomorrow}"), "Invalid", "a.yaml:6:23", "spec.schedule.readyBy"),
        (("ephemeral: true", "maxCostUSD: '-1'"), "Invalid", "a.yaml:6:15", "spec.maxCostUSD"),
        (("ephemeral: true", "maxCostUSD: '2,50'"), "Invalid", "a.yaml:6:15", "spec.maxCostUSD"),
    ],
)
def test_a_broken_rule_stands_at_its_place(
    read: Callable[..., Decoded], *, workspace: Callable[..., str], lines: tuple[str, ...], reason: str, place: str, field: str
) -> None:
    (fault,) = read(workspace(*lines)).diagnostics
    assert (fault.code, str(fault.span), fault.field) == (reason, place, field)


def test_a_fault_between_fields_names_all_of_them(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    (fault,) = read(workspace("ephemeral: true", "volume: v")).diagnostics
    assert "spec.ephemeral" in fault.detail


def test_rules_between_fields_are_checked_also_where_other_fields_are_wrong(
    read: Callable[..., Decoded], workspace: Callable[..., str]
) -> None:
    faults = read(workspace("ephemeral: true", "volume: v", "idleTimout: 1h")).diagnostics
    assert [fault.field for fault in faults] == ["spec.volume", "spec.idleTimout"]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ('"H100:8"', {"type": ["H100"], "count": 8}),
        ("L4", {"type": ["L4"]}),
        ("{minMemory: 40Gi}", {"minMemory": "40Gi"}),
        ('"H100-SXM!"', {"type": ["H100-SXM"], "exact": True}),
        ('"h100-sxm!:4"', {"type": ["H100-SXM"], "count": 4, "exact": True}),
        ("H100:8", {"type": ["H100"], "count": 8}),
    ],
)
def test_short_forms_of_gpus_are_stored_in_the_long_form(
    read: Callable[..., Decoded], workspace: Callable[..., str], short: str, long: dict[str, object]
) -> None:
    assert read(workspace("ephemeral: true", f"resources: {{gpu: {short}}}")).resources[0].written["resources"] == {"gpu": long}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resources: {memory: 16384Mi}", "resources: {memory: 16Gi}"),
        ("resources: {cpu: 4}", 'resources: {cpu: "4"}'),
        ("resources: {cpu: 4}", "resources: {cpu: 4000m}"),
        ("idleTimeout: 60m", "idleTimeout: 1h"),
        ("idleTimeout: 3600s", "idleTimeout: 1h"),
        ('maxCostUSD: "5"', 'maxCostUSD: "5.00"'),
        ("schedule: {stopAt: 2026-10-26T09:00:00+02:00}", 'schedule: {stopAt: "2026-10-26T07:00:00Z"}'),
        ("resources: {gpu: {type: [h100]}}", "resources: {gpu: H100}"),
    ],
)
def test_equal_values_in_another_spelling_are_written_alike(
    read: Callable[..., Decoded], workspace: Callable[..., str], one: str, other: str
) -> None:
    first, second = (read(workspace("ephemeral: true", line)).resources[0] for line in (one, other))
    assert first.written == second.written
    assert first.spec == second.spec


@pytest.mark.parametrize(("gpu", "image"), [("", "nodus/workspace-cpu"), ("resources: {gpu: L4}", "nodus/workspace-pytorch-cuda")])
def test_the_default_image_follows_the_accelerator(
    read: Callable[..., Decoded], workspace: Callable[..., str], gpu: str, image: str
) -> None:
    (resource,) = read(workspace("ephemeral: true", *([gpu] if gpu else []))).resources
    assert resource.spec["image"] == image
    assert "image" not in resource.written


def test_what_is_written_and_what_is_default_can_be_told_apart(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    (resource,) = read(workspace("ephemeral: true")).resources
    assert resource.written == {"ephemeral": True}
    assert resource.spec["tools"] == ["VSCode", "Jupyter", "SSH"]
    assert resource.spec["idleTimeout"] == "1h"
    assert resource.spec["network"] == {"egress": {"policy": "Open"}}


@pytest.mark.parametrize(
    ("placement", "gpu", "field"),
    [
        ("offerings: [h100-sxm-80g-x8-us]", "L4:1", "spec.resources.gpu.type"),
        ("offerings: [h100-sxm-80g-x4-us]", "H100:8", "spec.resources.gpu.count"),
        ("offerings: [cpu-4c-16g-us]", "H100", "spec.resources.gpu"),
        ("offerings: [h100-sxm-80g-x8-us], regions: [eu]", "H100:8", "spec.placement.regions"),
    ],
)
def test_a_pinned_offering_that_contradicts_the_rest_is_refused(
    read: Callable[..., Decoded], workspace: Callable[..., str], placement: str, gpu: str, field: str
) -> None:
    (fault,) = read(workspace("ephemeral: true", f"placement: {{{placement}}}", f"resources: {{gpu: {gpu}}}")).diagnostics
    assert (fault.code, fault.field) == ("Invalid", field)
    assert "spec.placement.offerings" in fault.detail or field == "spec.placement.offerings"


@pytest.mark.parametrize("offering", ["h100-sxm-80g-x8-us", "rtx4090-24g-x1-us", "my-own-host"])
def test_a_pin_that_may_fit_is_left_to_placement(read: Callable[..., Decoded], workspace: Callable[..., str], offering: str) -> None:
    gpu = "RTX4090" if offering.startswith("rtx") else "H100:8"
    assert read(workspace("ephemeral: true", f"placement: {{offerings: [{offering}]}}", f"resources: {{gpu: {gpu}}}")).diagnostics == ()


def test_ready_by_is_checked_against_now_only_where_it_is_new(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    text = workspace("ephemeral: true", "schedule: {readyBy: 2026-10-26T07:14:59Z}")
    (fault,) = read(text, now=NOW).diagnostics
    assert (fault.code, fault.field) == ("Invalid", "spec.schedule.readyBy")
    assert read(text).diagnostics == ()
    kept = {Address("workspace", "lab"): {"schedule": {"readyBy": "2026-10-26T09:14:59+02:00"}}}
    assert read(text, now=NOW, known=kept).diagnostics == ()
    moved = {Address("workspace", "lab"): {"schedule": {"readyBy": "2026-10-25T07:14:59Z"}}}
    assert len(read(text, now=NOW, known=moved).diagnostics) == 1
    assert read(text.replace("07:14:59", "07:15:00"), now=NOW).diagnostics == ()


def test_a_schedule_ends_after_it_begins(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    text = workspace("ephemeral: true", "schedule: {readyBy: 2026-10-26T09:00:00+02:00, stopAt: 2026-10-26T07:00:00Z}")
    (fault,) = read(text).diagnostics
    assert fault.field == "spec.schedule.stopAt"
