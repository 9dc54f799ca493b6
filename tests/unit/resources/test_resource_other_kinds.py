"""Volume, SSHKey, Budget, Pool and App."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from nodusctl.resources.decode import Decoded
from nodusctl.resources.sshkey import fingerprint


def of_kind(kind: str, spec: str) -> str:
    return f"apiVersion: nodus.dev/v1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n"


def line_of(key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


ED25519 = line_of(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def test_a_volume_has_the_defaults_of_its_page(read: Callable[..., Decoded]) -> None:
    (volume,) = read("apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {name: home}\n").resources
    assert volume.written == {}
    assert volume.spec == {"accessMode": "ReadWriteOnce", "size": "50Gi", "revisionHistoryLimit": 10, "deletionPolicy": "Retain"}


@pytest.mark.parametrize(
    ("kind", "spec", "reason", "field"),
    [
        ("Volume", "{size: 512Mi}", "Invalid", "spec.size"),
        ("Volume", "{revisionHistoryLimit: 0}", "Invalid", "spec.revisionHistoryLimit"),
        ("Volume", "{revisionHistoryLimit: 101}", "Invalid", "spec.revisionHistoryLimit"),
        ("Volume", "{accessMode: ReadWrite}", "NotSupported", "spec.accessMode"),
        ("Budget", "{}", "FieldValueRequired", "spec.limitUSD"),
        ("Budget", "{limitUSD: '0.00'}", "Invalid", "spec.limitUSD"),
        ("Budget", "{limitUSD: 5}", "Invalid", "spec.limitUSD"),
        ("Budget", "{limitUSD: '5', thresholds: [1, 2, 3, 4, 5, 6]}", "Invalid", "spec.thresholds"),
        ("Budget", "{limitUSD: '5', thresholds: [0]}", "Invalid", "spec.thresholds[0]"),
        ("Budget", "{limitUSD: '5', thresholds: [50, 50]}", "Duplicate", "spec.thresholds[1]"),
        ("Budget", "{limitUSD: '5', thresholds: [true]}", "Invalid", "spec.thresholds[0]"),
        ("Pool", "{rateUSDPerHour: 0.5}", "Invalid", "spec.rateUSDPerHour"),
        ("SSHKey", "{}", "FieldValueRequired", "spec.publicKey"),
    ],
)
def test_a_broken_rule_names_its_field(read: Callable[..., Decoded], kind: str, spec: str, reason: str, field: str) -> None:
    (fault,) = read(of_kind(kind, spec)).diagnostics
    assert (fault.code, fault.field) == (reason, field)


def test_a_budget_has_the_defaults_of_its_page(read: Callable[..., Decoded]) -> None:
    spec = read(of_kind("Budget", '{limitUSD: "2000"}')).resources[0].spec
    assert spec == {"limitUSD": "2000.00", "period": "Monthly", "action": "Block", "thresholds": [50, 80, 100]}


@pytest.mark.parametrize("key", [ED25519, line_of(ec.generate_private_key(ec.SECP256R1())), line_of(rsa.generate_private_key(65537, 3072))])
def test_strong_public_keys_are_accepted_with_a_comment(read: Callable[..., Decoded], key: str) -> None:
    assert read(of_kind("SSHKey", f'{{publicKey: "{key} me@laptop"}}')).diagnostics == ()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (line_of(rsa.generate_private_key(65537, 2048)), "2048 bits"),
        ("ssh-dss AAAA", "ssh-ed25519"),
        ("ssh-ed25519 !!!", "base64"),
        (f"ecdsa-sha2-nistp256 {ED25519.split()[1]}", "does not hold"),
        ("ssh-ed25519 " + base64.b64encode(base64.b64decode(ED25519.split()[1])[:-4]).decode(), "damaged"),
        ("ssh-ed25519", "one line"),
    ],
)
def test_weak_or_damaged_public_keys_are_refused(read: Callable[..., Decoded], key: str, words: str) -> None:
    (fault,) = read(of_kind("SSHKey", f'{{publicKey: "{key}"}}')).diagnostics
    assert fault.field == "spec.publicKey"
    assert words in fault.detail


def test_a_private_key_is_refused_and_not_shown(read: Callable[..., Decoded]) -> None:
    (fault,) = read(of_kind("SSHKey", '{publicKey: "-----BEGIN OPENSSH PRIVATE KEY-----\\nabcdefgh"}')).diagnostics
    assert fault.summary == "This is a private key."
    assert "abcdefgh" not in repr(fault)


def test_the_fingerprint_is_that_of_ssh_keygen() -> None:
    assert fingerprint(ED25519) == "SHA256:" + fingerprint(f"{ED25519} comment").removeprefix("SHA256:")
    assert len(fingerprint(ED25519)) == len("SHA256:") + 43
