"""Canonical form of YAML files, by example; the property tests cover the rest."""

from __future__ import annotations

from nodusctl.documents.formatting import format_yaml

_UNTIDY = """\
# head


apiVersion:   nodus.dev/v1      # the version
spec:
    resources: {gpu: H100:8,memory:   64Gi}   # eight
    when: 2026-10-26T07:00:00Z
    octal: 010
    env:
        - name: X
          value: "5.00"
               # far inside
        -   name: 'Y'
            value: |
              text@@@
               more

              end
---
kind: Volume

# the end
""".replace("@", " ")
_TIDY = """\
# head

apiVersion: nodus.dev/v1  # the version
spec:
  resources: {gpu: H100:8, memory: 64Gi}  # eight
  when: 2026-10-26T07:00:00Z
  octal: 010
  env:
  - name: X
    value: "5.00"
    # far inside
  - name: 'Y'
    value: |
      text@@@
       more

      end
---
kind: Volume

# the end
""".replace("@", " ")


def test_layout_is_made_canonical_and_values_quotes_and_comments_stay() -> None:
    assert format_yaml("a.yaml", _UNTIDY.encode()).text == _TIDY
    assert format_yaml("a.yaml", _TIDY.encode()).text == _TIDY


def test_a_plain_value_after_a_comment_block_gains_no_blank() -> None:
    text = "project: x\n\n# Where it is.\nstate: sqlite:///.nodus/state.db\n\nproviders:\n  # one\n  here: {type: local}\n"
    assert format_yaml("nodusctl.yaml", text.encode()).text == text


def test_a_file_with_a_fault_is_left_as_it_is_and_the_fault_is_told() -> None:
    text = "a: 1\na: 2\n"
    formatted = format_yaml("a.yaml", text.encode())
    assert formatted.text == text
    assert [one.code for one in formatted.diagnostics] == ["Duplicate"]


def test_a_comment_that_would_be_lost_keeps_the_file_as_it_is() -> None:
    text = "a: {b: 1, # inside\n    c: 2}\nd:  3\n"
    formatted = format_yaml("a.yaml", text.encode())
    assert "# inside" in formatted.text
    assert format_yaml("a.yaml", formatted.text.encode()).text == formatted.text


def test_windows_line_ends_and_a_byte_order_mark_go() -> None:
    assert format_yaml("a.yaml", b"\xef\xbb\xbfa: 1\r\nb: [1,2]\r\n").text == "a: 1\nb: [1, 2]\n"
