"""Reading YAML: all faults of form in one run, each at its place, and never a crash."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.documents.building import MAX_ALIASED_VALUES
from nodusctl.documents.faults import MAX_BYTES
from nodusctl.documents.reading import Loaded, load_documents, read_mapping


def load(content: bytes | str) -> Loaded:
    return load_documents([("a.yaml", content.encode() if isinstance(content, str) else content)], named=frozenset({"a.yaml"}))


def places(loaded: Loaded) -> list[tuple[str, int, int]]:
    return [(fault.code, fault.span.line, fault.span.column) for fault in loaded.diagnostics if fault.span is not None]


def only(loaded: Loaded) -> Diagnostic:
    (found,) = loaded.diagnostics
    return found


def test_a_duplicate_key_stands_at_the_second_one_and_names_the_first() -> None:
    fault = only(load("spec: {}\nmetadata: {}\nspec: {}\n"))
    assert (fault.code, str(fault.span), fault.field) == ("Duplicate", "a.yaml:3:1", "spec")
    assert "line 1" in fault.detail


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("base: &a {x: 1}\nspec: {<<: *a}\n", 2, 8),  # a merge key
        ("spec:\n\tname: x\n", 2, 1),  # a tab
        ("a: !!int '3'\n", 1, 4),  # a tag
        ("a: *nowhere\n", 1, 4),  # an alias without an anchor
        ("&x a: 1\nb: &y [*y]\n", 2, 8),  # an anchor inside itself
        ("? [a]\n: b\n", 1, 3),  # a list as a key
        ("a: b: c\n", 1, 5),  # two mappings in a line
        ("a: 'open\nb: 1\n", 1, 4),  # a quote that never ends
        ("'': 1\n", 1, 1),  # an empty key
    ],
)
def test_a_fault_of_form_stands_at_its_line_and_column(text: str, line: int, column: int) -> None:
    assert places(load(text)) == [("Invalid", line, column)]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("kind: [Workspace\nmetadata: {}\n", "1:7 Close the list that begins in line 1 with ], and put commas between its parts."),
        ("kind: {a: 1\nb: 2\n", "1:7 Close the mapping that begins in line 1 with }, and put commas between its parts."),
        ('a: 1\nkind: "abc\n', "2:7 Close the quote that begins in line 2."),
        ('a: "x\nb: "y"\n', "1:4 Close the quote that begins in line 1."),
        ('a: "x" y\n', "1:8 Put the whole text in the quotes: nothing may follow the closing one."),
        ('a: "\\q"\n', "1:5 Write two backslashes for one, or use single quotes: in double quotes a backslash begins an escape."),
        ("a: {b: 1 c: 2}\n", "1:11 Put a comma between the fields of the mapping."),
        ("a: [b}\n", "1:6 Write ] in place of }."),
        ("a: [b]]\n", "1:7 Remove the ], which nothing opens."),
        ("a: 1\nb:2\nc: 3\n", "2:2 Put a space after the colon of b in line 2."),
        ("x:\n  b:2\n  c: 3\n", "2:4 Put a space after the colon of b in line 2."),
        ("a: 1\nb:2\n", "2:2 Put a space after the colon of b in line 2."),
        ("a:\n  - b\n  -c\nd: 1\n", "3:3 Put a space after the dash in line 3."),
        ("a: 1\nabc\nb: 2\n", "2:4 Put a colon and a space after abc in line 2, or quote the text."),
        ("a b\nc: 2\n", "1:2 Put a colon and a space after a in line 1, or quote the text."),
        ("a = b\nc: 2\n", "1:2 Write a colon in place of = after a in line 1."),
        ("a: b: c\n", "1:5 Quote the text that holds ': '."),
        ("a: b\n  c: d\n", "2:3 Indent line 2 like line 1, not at all."),
        ("x:\n a: b\n  c: d\n", "3:3 Indent line 3 like line 2, by 1 space."),
        ("a:\n  b: 1\n c: 2\n", "3:2 Indent line 3 like line 2, by 2 spaces, or as far as the field it belongs beside."),
        ("a:\n  - b\n - c\n", "3:2 Indent line 3 like line 2, by 2 spaces."),
        ("a: 1\n- b\n", "2:1 Put the list under a field of its own: it can't follow a field that has a value."),
        ("a:\n  - b\n  c: 1\n", "3:3 Begin the line with a dash, or indent it less: the list that begins in line 2 has members only."),
        ("x:\n  a: 1\n --- \nb: 1\n", "3:2 Begin the line with ---: no space stands before what parts two documents."),
        ("a: |b\n  c\n", "1:5 Begin the text in the line below the | or >, indented further; or quote a text that begins with one."),
        ("a: @b\n", "1:4 Quote the text: without quotes none begins with @."),
        ("a: %b\n", "1:4 Quote the text: without quotes none begins with %."),
        ("<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n", "1:1 Settle the merge conflict at line 1, and remove its marker lines."),
    ],
)
def test_broken_yaml_says_what_mends_it_and_where(text: str, fix: str) -> None:
    (fault,) = (one for one in load(text).diagnostics if one.summary == "This is not valid YAML.")
    assert fault.span is not None
    assert f"{fault.span.line}:{fault.span.column} {fault.fix}" == fix


@pytest.mark.parametrize("text", ["a: *x\n", "a: !x\n", "a: {{ x }}\n", "*x : 1\n", "'': 1\n"])
def test_every_fault_of_form_has_a_fix(text: str) -> None:
    faults = [one for one in load(text).diagnostics if one.is_error]
    assert faults
    assert all(one.fix for one in faults)


def test_a_slip_in_a_later_document_is_told_in_lines_of_the_file() -> None:
    (fault,) = (one for one in load("a: 1\n---\nb: 2\nc:3\nd: 4\n---\ne: 5\n").diagnostics if one.summary == "This is not valid YAML.")
    assert fault.span is not None
    assert (fault.span.line, fault.fix) == (4, "Put a space after the colon of c in line 4.")


def test_nul_is_named_with_its_place() -> None:
    fault = only(load(b"a: 1\nb: x\x00y\n"))
    assert str(fault.span) == "a.yaml:2:5"
    assert "NUL" in fault.detail


def test_bytes_that_are_no_utf8_are_named_with_their_place() -> None:
    fault = only(load(b"a: 1\nb: \xe4\n"))
    assert str(fault.span) == "a.yaml:2:4"
    assert "0xe4" in fault.detail


def test_a_byte_order_mark_is_fine_and_moves_no_column() -> None:
    loaded = load(b"\xef\xbb\xbfa: 1\n")
    assert loaded.diagnostics == ()
    assert loaded.documents[0].span(("a",), key=True).column == 1


def test_all_faults_of_a_file_come_in_one_run_also_after_a_syntax_error() -> None:
    loaded = load("a: 1\na: 2\n---\nb: [\n---\nc: 1\nc: 2\n---\nd: 1\n")
    assert [(code, line) for code, line, _ in places(loaded)] == [("Duplicate", 2), ("Invalid", 5), ("Duplicate", 7)]
    assert {"d": 1} in [document.value for document in loaded.documents]


def test_faults_inside_a_refused_key_are_still_found() -> None:
    loaded = load("a: 1\na: {b: 1, b: 2}\n")
    assert places(loaded) == [("Duplicate", 2, 1), ("Duplicate", 2, 11)]


def test_an_alias_repeats_its_value() -> None:
    loaded = load("a: &x [1, 2]\nb: *x\n")
    assert loaded.documents[0].value == {"a": [1, 2], "b": [1, 2]}
    assert loaded.documents[0].span(("b",)).line == 2


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    levels = "\n".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12))
    fault = only(load(f"a0: &a0 [x, x]\n{levels}\n"))
    assert str(MAX_ALIASED_VALUES) in fault.detail


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 100_000, "- " * 100_000])
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    assert only(load(text)).summary == "The file is nested too deeply."


def test_a_file_above_the_limit_is_not_read() -> None:
    assert only(load(b"a" * (MAX_BYTES + 1))).code == "RequestEntityTooLarge"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only words\n", b"---\n---\n", b"\xef\xbb\xbf"])
def test_an_empty_file_that_was_named_is_a_clear_error(content: bytes) -> None:
    fault = only(load(content))
    assert (fault.is_error, fault.summary, str(fault.span)) == (True, "The file is empty.", "a.yaml:1:1")


def test_an_empty_file_beside_others_is_a_warning() -> None:
    loaded = load_documents([("a.yaml", b""), ("b.yaml", b"apiVersion: nodus.dev/v1\n")])
    assert [fault.is_error for fault in loaded.diagnostics] == [False]


def test_a_colon_inside_a_flow_value_is_read_as_yaml_1_2_says() -> None:
    assert load("a: {gpu: H100:8, at: 2026-10-26T06:00:00Z}\n").documents[0].value == {"a": {"gpu": "H100:8", "at": "2026-10-26T06:00:00Z"}}


def test_documents_of_others_are_counted_and_left_alone() -> None:
    foreign = b"apiVersion: v1\nkind: Pod\n---\napiVersion: apps/v1\nkind: Deployment\n"
    template = b"{{ template }}: [\n"
    loaded = load_documents(
        [("pod.yaml", foreign), ("chart.yaml", template), ("ws.yaml", b"apiVersion: nodus.dev/v1\nkind: Workspace\n---\nx: 1\n")]
    )
    assert (len(loaded.documents), loaded.skipped, loaded.diagnostics) == (1, 4, ())


def test_our_kind_under_another_version_is_never_left_alone() -> None:
    loaded = load_documents([("a.yaml", b'apiVersion: v1\n"kind": "Workspace"\n')])
    assert (len(loaded.documents), loaded.skipped) == (1, 0)


def test_a_file_named_by_hand_is_never_left_alone() -> None:
    assert len(load("apiVersion: v1\nkind: Pod\n").documents) == 1


def test_a_settings_file_is_one_mapping() -> None:
    document, faults = read_mapping("world.yaml", b"a: 1\n")
    assert document is not None
    assert (document.value, faults) == ({"a": 1}, ())
    assert read_mapping("world.yaml", b"[1]\n")[1][0].summary == "The file holds no mapping."
    assert read_mapping("world.yaml", b"a: 1\n---\nb: 1\n")[1][0].summary == "The file holds more than one document."
    empty, faults = read_mapping("world.yaml", b"# nothing yet\n")
    assert empty is not None
    assert (empty.value, faults) == ({}, ())


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>'\"%@#?,\n\t 01.<~\x00\ufeff", max_size=80).map(str.encode))
def test_no_bytes_make_reading_crash_and_every_fault_has_a_place(content: bytes) -> None:
    loaded = load(content)
    lines = content.count(b"\n") + content.count(b"\r") + content.count(b"\xc2\x85") + content.count(b"\xe2\x80") + 2
    assert loaded.documents or loaded.diagnostics
    assert all(fault.span is not None and 1 <= fault.span.line <= lines and fault.span.column >= 1 for fault in loaded.diagnostics)


def test_a_place_that_is_not_written_is_that_of_the_mapping_that_lacks_it() -> None:
    document = load("metadata:\n  name: x\nspec:\n  env:\n  - name: A\n").documents[0]
    assert str(document.span(("spec", "env", 0, "name"))) == "a.yaml:5:11"
    assert str(document.span(("spec", "env", 0, "value"))) == "a.yaml:5:5"
    assert str(document.span(("spec", "resources", "cpu"))) == "a.yaml:3:1"
    assert str(document.span(("status",))) == "a.yaml:1:1"
    assert document.order_of(("metadata", "name")) < document.order_of(("spec",))
