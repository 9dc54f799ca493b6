"""Case 12 and the Secret kind: a secret value enters no spec, no message and no text form."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable

import pytest

from nodusctl.base.redaction import clean
from nodusctl.resources.decode import Decoded
from nodusctl.resources.resource import SecretMaterial, ValueSource

CANARY = "canary-4f1d0b"
SECRET = "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {{name: wandb}}\nspec:\n  {}\n"


def test_a_literal_that_looks_like_a_secret_is_refused_without_showing_it(
    read: Callable[..., Decoded], workspace: Callable[..., str]
) -> None:
    decoded = read(workspace("ephemeral: true", "env: [{name: HF_TOKEN, value: hf_TESTSECRET123}]"))
    (fault,) = decoded.diagnostics
    assert (fault.code, fault.field, str(fault.span)) == ("SecretValueInEnv", "spec.env[0].value", "a.yaml:6:33")
    assert "TESTSECRET" not in repr(decoded)
    assert "TESTSECRET" not in clean("the provider says: bad token hf_TESTSECRET123")


def test_allow_env_admits_a_variable_that_only_looks_like_a_secret(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    text = workspace(
        "ephemeral: true", 'env: [{name: MAX_TOKEN, value: "4096"}]', metadata=", annotations: {nodus.dev/allow-env: MAX_TOKEN}"
    )
    assert read(text).diagnostics == ()


def test_a_pinned_version_and_a_bare_name_are_stored_in_the_long_form(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    decoded = read(workspace("ephemeral: true", "secrets: [hf, {name: wandb, version: 3}]"))
    assert decoded.resources[0].written["secrets"] == [{"name": "hf"}, {"name": "wandb", "version": 3}]


def test_values_travel_apart_and_only_key_names_stand_in_the_spec(read: Callable[..., Decoded]) -> None:
    encoded = base64.b64encode(b"\xff\x00raw").decode()
    decoded = read(SECRET.format(f"stringData: {{token: {CANARY}}}\n  data: {{blob: {encoded}}}\n  valueFrom: {{key: {{env: WANDB}}}}"))
    (resource,) = decoded.resources
    assert resource.written == {"data": {"blob": "", "token": ""}, "valueFrom": {"key": {"env": "WANDB"}}}
    assert resource.material is not None
    assert resource.material.literals == {"token": CANARY.encode(), "blob": b"\xff\x00raw"}
    assert resource.material.sources == {"key": ValueSource(env="WANDB")}
    assert resource.material.keys == ("blob", "key", "token")


def test_no_text_form_of_anything_shows_a_value(read: Callable[..., Decoded]) -> None:
    decoded = read(SECRET.format(f"stringData: {{token: {CANARY}}}"))
    shown = (
        repr(decoded)
        + json.dumps(decoded.resources[0].written)
        + json.dumps(decoded.resources[0].spec)
        + repr(decoded.resources[0].document)
    )
    assert CANARY not in shown
    assert CANARY not in clean(f"echoed by a provider: {CANARY}")
    with pytest.raises(TypeError):
        pickle.dumps(decoded.resources[0].material)


@pytest.mark.parametrize(
    "body",
    [
        f"stringdata: {{token: {CANARY}}}",
        f"stringData: {CANARY}",
        f"stringData: [{CANARY}]",
        f"stringData: {{token: [{CANARY}]}}",
        f"data: {{token: {CANARY}}}",
        f"stringData: {{'a b': {CANARY}}}",
        f"type: {CANARY}\n  stringData: {{a: b}}",
        f"valueFrom: {{token: {CANARY}}}",
    ],
)
def test_no_fault_in_a_secret_shows_a_value(read: Callable[..., Decoded], body: str) -> None:
    decoded = read(SECRET.format(body))
    assert decoded.resources == ()
    assert decoded.diagnostics
    assert CANARY not in clean(repr(decoded))


def test_values_beside_spec_are_refused_and_never_shown_later(read: Callable[..., Decoded]) -> None:
    decoded = read(f"apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{token: {CANARY}-top}}\n")
    assert "It belongs under spec: spec.stringData." in [fault.fix for fault in decoded.diagnostics]
    assert f"{CANARY}-top" not in clean(f"echo {CANARY}-top")


def test_a_key_shown_without_a_value_keeps_what_is_stored(read: Callable[..., Decoded]) -> None:
    material = read(SECRET.format('data: {token: ""}')).resources[0].material
    assert material == SecretMaterial({}, {}, frozenset({"token"}))


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ("type: Opaque", "FieldValueRequired", "spec.valueFrom"),
        ("stringData: {a: x}\n  valueFrom: {a: {env: A}}", "Invalid", "spec.valueFrom.a"),
        ("valueFrom: {a: {env: A, file: f}}", "Invalid", "spec.valueFrom.a.file"),
        ("valueFrom: {a: {}}", "FieldValueRequired", "spec.valueFrom.a.env"),
        ("stringData: {a: 5}", "Invalid", "spec.stringData.a"),
        ("data: {a: '%%'}", "Invalid", "spec.data.a"),
        ("stringData: {a: }", "Invalid", "spec.stringData.a"),
        ("stringData: {a b: x}", "Invalid", 'spec.stringData["a b"]'),
    ],
)
def test_each_key_has_exactly_one_readable_source(read: Callable[..., Decoded], body: str, reason: str, field: str) -> None:
    (fault,) = read(SECRET.format(body)).diagnostics
    assert (fault.code, fault.field) == (reason, field)
