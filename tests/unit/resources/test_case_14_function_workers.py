"""Case 14 and the other rules of a Function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodusctl.resources.decode import Decoded


def test_min_workers_counts_for_the_function_and_max_workers_has_a_finite_default(
    read: Callable[..., Decoded], function: Callable[..., str]
) -> None:
    text = function("scaling: {minWorkers: 2}").replace("qualname: Emb}", "qualname: Emb, cls: {name: Emb, methods: [embed, rank]}}")
    (resource,) = read(text).resources
    assert resource.spec["scaling"] == {"minWorkers": 2, "maxWorkers": 10, "scaledownWindow": "1m", "targetConcurrency": 1}
    assert resource.written["scaling"] == {"minWorkers": 2}


@pytest.mark.parametrize(
    ("lines", "reason", "field", "words"),
    [
        (("scaling: {maxWorkers: 1001}",), "Invalid", "spec.scaling.maxWorkers", "at most 1000"),
        (("scaling: {minWorkers: 11}",), "Invalid", "spec.scaling.minWorkers", "10 (the default)"),
        (("scaling: {minWorkers: 3, maxWorkers: 2}",), "Invalid", "spec.scaling.maxWorkers", "spec.scaling.minWorkers"),
        (("image: a", "imageRef: b"), "Invalid", "spec.imageRef", "spec.image"),
        (("image: nodus/python:3.11",), "Invalid", "spec.image", "3.12"),
        (("image: nodus/pithon:3.12",), "NotSupported", "spec.image", "nodus/python:3.12"),
        (("timeout: 25h",), "Invalid", "spec.timeout", "1s to 24h"),
        (("timeout: 0s",), "Invalid", "spec.timeout", "1s to 24h"),
        (("resources: {nodes: 2}",), "Invalid", "spec.resources.nodes", "cluster.size"),
        (("cluster: {size: 1}",), "Invalid", "spec.cluster.size", "at least 2"),
        (("retries: {maxRetries: 11}",), "Invalid", "spec.retries.maxRetries", "at most 10"),
        (("retries: {backoffCoefficient: 10.5}",), "Invalid", "spec.retries.backoffCoefficient", "1 to 10"),
        (("initCommand: {command: [a], timeout: 31m}",), "Invalid", "spec.initCommand.timeout", "30m"),
        (("sidecars: [{name: a}, {name: a}]",), "Duplicate", "spec.sidecars[1].name", "spec.sidecars[0].name"),
        (("volumes: [{volume: v, mountPath: /etc/x}]",), "Invalid", "spec.volumes[0].mountPath", "/etc/x"),
        (("volumes: [{volume: v, mountPath: /lib64}]",), "Invalid", "spec.volumes[0].mountPath", "/lib64"),
        (("volumes: [{volume: v, mountPath: /a/../etc}]",), "Invalid", "spec.volumes[0].mountPath", "'..'"),
        (("volumes: [{volume: v, mountPath: /d, revision: 3}]",), "Invalid", "spec.volumes[0].revision", "readOnly: true"),
        (("recovery: {maxAttempts: 33}",), "Invalid", "spec.recovery.maxAttempts", "at most 32"),
        (("recovery: {checkpoint: {interval: 7h}}",), "Invalid", "spec.recovery.checkpoint.interval", "1m to 6h"),
        (("recovery: {checkpoint: {maxSize: 3Ti}}",), "Invalid", "spec.recovery.checkpoint.maxSize", "at most 2Ti"),
        (("env: [{name: NODUS_X, value: a}]",), "Forbidden", "spec.env[0].name", "NODUS_"),
    ],
)
def test_a_broken_rule_names_its_field(
    read: Callable[..., Decoded], *, function: Callable[..., str], lines: tuple[str, ...], reason: str, field: str, words: str
) -> None:
    (fault,) = read(function(*lines)).diagnostics
    assert (fault.code, fault.field) == (reason, field)
    assert words in f"{fault.detail} {fault.fix}"


@pytest.mark.parametrize(
    ("python", "reason"),
    [("3.10", "Invalid"), ("3.9", "NotSupported"), ('"3.14"', "NotSupported"), ("[]", "Invalid"), ("true", "NotSupported")],
)
def test_python_is_a_supported_version_in_quotes(
    read: Callable[..., Decoded], function: Callable[..., str], python: str, reason: str
) -> None:
    (fault,) = read(function().replace('"3.12"', python)).diagnostics
    assert (fault.code, fault.field) == (reason, "spec.python")


def test_a_function_without_code_is_named_at_its_spec(read: Callable[..., Decoded]) -> None:
    faults = read("apiVersion: nodus.dev/v1\nkind: Function\nmetadata: {name: f}\nspec: {}\n").diagnostics
    assert [(fault.code, fault.field, str(fault.span)) for fault in faults] == [
        ("FieldValueRequired", "spec.code", "a.yaml:4:1"),
        ("FieldValueRequired", "spec.python", "a.yaml:4:1"),
    ]


def test_defaults_follow_the_seed_page(read: Callable[..., Decoded], function: Callable[..., str]) -> None:
    spec = read(function("recovery: {checkpoint: {}}")).resources[0].spec
    assert (spec["image"], spec["state"], spec["timeout"]) == ("nodus/python:3.12", "Running", "5m")
    assert spec["retries"] == {"maxRetries": 0, "initialDelay": "1s", "backoffCoefficient": 2, "maxDelay": "1m"}
    assert spec["placement"] == {"profile": "Balanced", "interruptible": "Never", "queueTimeout": "24h"}
    assert spec["recovery"]["minProgressDuration"] == "2m"
    assert spec["recovery"]["checkpoint"] == {
        "format": "Snapshot",
        "integration": "Auto",
        "interval": "auto",
        "maxSize": "1Ti",
        "paths": ["/nodus/state"],
        "retainAfterFinish": "168h",
    }


def test_a_coefficient_keeps_its_exact_decimals(read: Callable[..., Decoded], function: Callable[..., str]) -> None:
    assert read(function("retries: {backoffCoefficient: 1.50}")).resources[0].written["retries"] == {"backoffCoefficient": "1.5"}
    assert read(function("retries: {backoffCoefficient: 3.0}")).resources[0].written["retries"] == {"backoffCoefficient": 3}
