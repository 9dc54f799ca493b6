"""Case 40: nothing a person mistypes is dropped without a word; each fault has its line, column and nearest valid key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodusctl.resources.decode import Decoded

BASE = """\
apiVersion: nodus.dev/v1
kind: Workspace
metadata:
  name: lab
spec:
  image: nodus/workspace-cpu
  resources:
    cpu: 4
    memory: 16Gi
  volume: lab-home
  idleTimeout: 1h
  maxCostUSD: "5.00"
"""
FUNCTION = """\
apiVersion: nodus.dev/v1
kind: Function
metadata: {name: f}
spec:
  code: {module: m, qualname: q}
  python: 3.10
"""

CASES = [
    ("two spec", BASE + "spec: {}\n", "Duplicate", 13, 1, "line 5"),
    ("a misspelt key", BASE.replace("idleTimeout: 1h", "idleTimout: 30m"), "Invalid", 11, 3, "idleTimeout"),
    ("maxCostUSD at top level", BASE + 'maxCostUSD: "5"\n', "Invalid", 13, 1, "spec.maxCostUSD"),
    ("off as a duration", BASE.replace("1h", "off"), "Invalid", 11, 16, "1h30m"),
    ("a number as a duration", BASE.replace("1h", "90"), "Invalid", 11, 16, "90s"),
    ("a float as an amount", BASE.replace('"5.00"', "5.1"), "Invalid", 12, 15, '"5.1"'),
    ("an integer as an amount", BASE.replace('"5.00"', "5"), "Invalid", 12, 15, '"5"'),
    ("a leading zero", BASE.replace("cpu: 4", "cpu: 010"), "Invalid", 8, 10, "leading zero"),
    ("an underscore", BASE.replace("cpu: 4", "cpu: 1_000"), "Invalid", 8, 10, "underscore"),
    ("an octal number", BASE.replace("cpu: 4", "cpu: 0o10"), "Invalid", 8, 10, "prefix"),
    ("a Python version as a number", FUNCTION, "Invalid", 6, 11, '"3.10"'),
    ("region: no", BASE + "  region: no\n", "Invalid", 13, 3, "spec.placement.regions"),
    ("region: no in placement", BASE + "  placement:\n    region: no\n", "Invalid", 14, 5, "regions"),
    ("anchors with merge keys", BASE + "  network: {<<: {egress: {}}}\n", "Invalid", 13, 13, "YAML 1.2"),
    ("a tab indent", BASE.replace("  volume", "\tvolume"), "Invalid", 10, 1, "spaces"),
    ("a NUL", BASE.replace("lab-home", "lab\x00home"), "Invalid", 10, 14, "NUL"),
    ("another version", BASE.replace("nodus.dev/v1", "nodus.dev/v2"), "NotSupported", 1, 13, "nodus.dev/v1"),
    ("an empty file", "", "Invalid", 1, 1, "no document"),
    ("a text as a boolean", BASE.replace("volume: lab-home", "ephemeral: on"), "Invalid", 10, 14, "true and false"),
    ("a misspelt kind", BASE.replace("Workspace", "Workspce"), "NotSupported", 2, 7, "Workspace"),
    ("a value of the wrong case", BASE + "  state: running\n", "NotSupported", 13, 10, "Running"),
]


@pytest.mark.parametrize(("text", "reason", "line", "column", "hint"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_is_refused_at_its_place_with_what_is_right(
    read: Callable[..., Decoded], *, text: str, reason: str, line: int, column: int, hint: str
) -> None:
    faults = [fault for fault in read(text).diagnostics if fault.is_error]
    fault = faults[0]
    assert (fault.code, str(fault.span)) == (reason, f"a.yaml:{line}:{column}")
    assert hint in f"{fault.detail} {fault.fix}"


def test_a_correct_file_has_nothing_to_say_with_and_without_a_byte_order_mark(read: Callable[..., Decoded]) -> None:
    assert read(BASE).diagnostics == ()
    assert read("\ufeff" + BASE).diagnostics == ()


def test_two_documents_of_one_kind_and_name_are_refused_at_the_later_name(read: Callable[..., Decoded]) -> None:
    decoded = read(BASE, BASE)
    (fault,) = decoded.diagnostics
    assert (fault.code, str(fault.span)) == ("Duplicate", "b.yaml:4:9")
    assert "a.yaml:4" in fault.detail
    assert [resource.source for resource in decoded.resources] == ["a.yaml"]


def test_all_faults_of_all_files_come_in_one_run(read: Callable[..., Decoded]) -> None:
    broken = BASE.replace("idleTimeout: 1h", "idleTimout: 30m").replace('"5.00"', "5.1").replace("cpu: 4", "cpu: 010")
    assert [str(fault.span) for fault in read(broken, FUNCTION).diagnostics] == [
        "a.yaml:8:10",
        "a.yaml:11:3",
        "a.yaml:12:15",
        "b.yaml:6:11",
    ]
