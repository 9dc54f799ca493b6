"""References: what is named must exist and fit, and everything comes after what it names."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from nodusctl.base.ids import Address
from nodusctl.resources.decode import Decoded
from nodusctl.resources.references import check_references, in_dependency_order, ordered, references_of
from nodusctl.resources.resource import Resource

HEAD = "apiVersion: nodus.dev/v1\nkind: {}\nmetadata: {{name: {}}}\nspec: {}\n---\n"


def of(kind: str, name: str, spec: str = "{}") -> str:
    return HEAD.format(kind, name, spec)


LAB = of(
    "Workspace",
    "lab",
    "{volume: lab-home, sshKeys: [ann], secrets: [wandb], env: [{name: A, valueFrom: {secretKeyRef: {name: hf, key: token}}}]}",
)
OTHERS = of("Volume", "lab-home") + of("Secret", "wandb", "{stringData: {a: b}}") + of("Secret", "hf", "{stringData: {token: canary-9a}}")


def test_all_references_of_a_workspace_are_found_in_the_order_of_its_fields(read: Callable[..., Decoded]) -> None:
    text = of(
        "Workspace",
        "lab",
        "{volume: v, imagePullSecrets: [p], secrets: [s], sshKeys: [k], placement: {pool: own}, "
        "env: [{name: A, valueFrom: {secretKeyRef: {name: e, key: x}}}]}",
    )
    (resource,) = read(text).resources
    assert [str(reference.to_address) for reference in references_of(resource)] == [
        "volume/v",
        "secret/p",
        "secret/e",
        "secret/s",
        "sshkey/k",
        "pool/own",
    ]


def test_a_missing_target_is_named_at_its_place_with_the_nearest_name(read: Callable[..., Decoded]) -> None:
    resources = read(LAB + OTHERS.replace("name: lab-home", "name: lab-hom")).resources
    faults = check_references(resources)
    assert [(fault.code, fault.field) for fault in faults] == [("NotFound", "spec.volume"), ("NoSSHKey", "spec.sshKeys[0]")]
    assert "'lab-hom'" in faults[0].fix
    assert str(faults[0].span) == "a.yaml:4:16"


def test_what_the_state_knows_exists(read: Callable[..., Decoded]) -> None:
    resources = read(LAB).resources
    known = {Address("volume", "lab-home"), Address("secret", "wandb"), Address("secret", "hf"), Address("sshkey", "ann")}
    assert check_references(resources, known) == ()


def test_the_key_of_the_person_at_the_command_line_always_exists(read: Callable[..., Decoded]) -> None:
    assert check_references(read(of("Workspace", "lab", "{ephemeral: true, sshKeys: [cli]}")).resources) == ()


@pytest.mark.parametrize(
    ("spec", "other", "reason", "field"),
    [
        ("{volume: v}", of("Volume", "v", "{accessMode: ReadOnlyMany}"), "Invalid", "spec.volume"),
        ("{ephemeral: true, imagePullSecrets: [s]}", of("Secret", "s", "{stringData: {a: b}}"), "Invalid", "spec.imagePullSecrets[0]"),
        (
            "{ephemeral: true, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: tokn}}}]}",
            of("Secret", "s", "{stringData: {token: canary-9b}}"),
            "NotFound",
            "spec.env[0].valueFrom.secretKeyRef.key",
        ),
    ],
)
def test_a_target_that_cannot_serve_is_refused(read: Callable[..., Decoded], spec: str, other: str, reason: str, field: str) -> None:
    (fault,) = check_references(read(of("Workspace", "lab", spec) + other).resources)
    assert (fault.code, fault.field) == (reason, field)
    assert "canary" not in repr(fault)


def test_the_order_depends_on_names_and_not_on_files(read: Callable[..., Decoded]) -> None:
    forward = read(LAB + OTHERS).resources
    backward = tuple(reversed(forward))
    names = [str(resource.address) for resource in in_dependency_order(forward)]
    assert names == [str(resource.address) for resource in in_dependency_order(backward)]
    assert names == ["secret/hf", "secret/wandb", "volume/lab-home", "workspace/lab"]


def many(read: Callable[..., Decoded], count: int) -> tuple[Resource, ...]:
    return read("".join(of("Volume", f"v{number:05}") for number in range(count))).resources


def test_a_chain_of_thousands_is_ordered_without_recursion_and_in_linear_time(read: Callable[..., Decoded]) -> None:
    resources = many(read, 2000)
    addresses = [resource.address for resource in resources]
    chain = {address: [target] for address, target in pairwise(addresses)}
    started = time.process_time()
    result = ordered(resources, chain)
    assert time.process_time() - started < 1
    assert [resource.address for resource in result.resources] == list(reversed(addresses))
    assert result.diagnostics == ()


def test_each_circle_is_one_diagnostic_and_nothing_is_lost(read: Callable[..., Decoded]) -> None:
    resources = many(read, 6)
    v = [resource.address for resource in resources]
    edges = {v[0]: [v[1]], v[1]: [v[0]], v[2]: [v[3]], v[3]: [v[4]], v[4]: [v[2], v[5]]}
    result = ordered(resources, edges)
    assert [fault.detail for fault in result.diagnostics] == [
        "volume/v00000 → volume/v00001 → volume/v00000.",
        "volume/v00002 → volume/v00003 → volume/v00004 → volume/v00002.",
    ]
    assert {resource.address for resource in result.resources} == set(v)
