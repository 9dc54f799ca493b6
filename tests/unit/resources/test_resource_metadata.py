"""Names, labels, the closed list of annotations, and what the program writes itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodusctl.resources.decode import Decoded


@pytest.mark.parametrize(
    ("metadata", "reason", "field"),
    [
        (", namespace: other", "Invalid", "metadata.namespace"),
        (", lables: {a: b}", "Invalid", "metadata.lables"),
        (", labels: {a: 1}", "Invalid", "metadata.labels.a"),
        (", labels: {a: 'x y'}", "Invalid", "metadata.labels.a"),
        (", labels: {'a b': x}", "Invalid", 'metadata.labels["a b"]'),
        (", labels: {nodus.dev/app: x}", "Invalid", 'metadata.labels["nodus.dev/app"]'),
        (", labels: [a]", "Invalid", "metadata.labels"),
        (", generateName: x", "NotSupported", "metadata.generateName"),
        (", annotations: {nodus.dev/protcted: 'true'}", "Invalid", 'metadata.annotations["nodus.dev/protcted"]'),
        (", annotations: {nodus.dev/protected: true}", "Invalid", 'metadata.annotations["nodus.dev/protected"]'),
        (", annotations: {nodus.dev/protected: 'yes'}", "Invalid", 'metadata.annotations["nodus.dev/protected"]'),
        (", annotations: {nodus.dev/windows: Mon 9-17}", "Invalid", 'metadata.annotations["nodus.dev/windows"]'),
        (", annotations: {nodus.dev/windows: 'Mon 09:00-17:00 Europe/Nowhere'}", "Invalid", 'metadata.annotations["nodus.dev/windows"]'),
        (", annotations: {nodus.dev/stop-requested-at: now}", "Invalid", 'metadata.annotations["nodus.dev/stop-requested-at"]'),
        (", annotations: {nodus.dev/moved-from: Lab}", "Invalid", 'metadata.annotations["nodus.dev/moved-from"]'),
    ],
)
def test_a_broken_rule_names_its_field(
    read: Callable[..., Decoded], workspace: Callable[..., str], metadata: str, reason: str, field: str
) -> None:
    (fault,) = read(workspace("ephemeral: true", metadata=metadata)).diagnostics
    assert (fault.code, fault.field) == (reason, field)


def test_a_misspelt_annotation_gets_the_nearest_name(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    (fault,) = read(workspace("ephemeral: true", metadata=", annotations: {nodus.dev/protcted: 'true'}")).diagnostics
    assert "nodus.dev/protected" in fault.fix


@pytest.mark.parametrize(
    "annotation",
    [
        "nodus.dev/windows: Mon-Fri 09:00-17:00 Europe/Madrid; Sat,Sun 22:00-02:00 UTC",
        "nodus.dev/late-start: 'true'",
        "nodus.dev/moved-from: lab",
        "nodus.dev/restart-requested-at: 2026-10-26T07:00:00Z",
        "nodus.dev/allow-env: A, B_C",
        "example.com/anything: goes here",
    ],
)
def test_annotations_a_person_may_write_are_accepted(read: Callable[..., Decoded], workspace: Callable[..., str], annotation: str) -> None:
    key, _, value = annotation.partition(": ")
    quoted = value if value.startswith("'") else f"'{value}'"
    assert read(workspace("ephemeral: true", metadata=f", annotations: {{{key}: {quoted}}}")).diagnostics == ()


@pytest.mark.parametrize("name", ["Lab", "-a", "a.b", "a_b", "x" * 64, "''"])
def test_a_name_is_a_dns_label(read: Callable[..., Decoded], name: str) -> None:
    (fault,) = read(f"apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {{name: {name}}}\n").diagnostics
    assert (fault.code, fault.field) == ("Invalid", "metadata.name")


def test_what_the_program_writes_is_ignored_with_one_note(read: Callable[..., Decoded], workspace: Callable[..., str]) -> None:
    text = (
        workspace("ephemeral: true", metadata=", uid: u-1, generation: 3, creationTimestamp: null")
        + "status: {phase: Running, unknown: 1}\n"
    )
    decoded = read(text, text.replace("name: lab", "name: lab2"))
    (note,) = decoded.diagnostics
    assert (note.is_error, note.code) == (False, "ServerWritten")
    assert "2 objects" in note.detail
    assert len(decoded.resources) == 2


@pytest.mark.parametrize("kind", ["Attempt", "Offering"])
def test_kinds_of_the_program_are_forbidden_in_files(read: Callable[..., Decoded], kind: str) -> None:
    (fault,) = read(f"apiVersion: nodus.dev/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n").diagnostics
    assert (fault.code, fault.field) == ("Forbidden", "kind")


@pytest.mark.parametrize("text", ["[]", "just words", "5"])
def test_a_document_that_is_no_mapping_is_named(read: Callable[..., Decoded], text: str) -> None:
    (fault,) = read(text).diagnostics
    assert (fault.code, str(fault.span)) == ("Invalid", "a.yaml:1:1")


def test_a_document_without_anything_names_all_that_is_missing(read: Callable[..., Decoded]) -> None:
    assert [fault.field for fault in read("spec: {}").diagnostics] == ["apiVersion", "kind", "metadata"]
