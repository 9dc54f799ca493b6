"""Whatever a document holds, decoding answers with Resources or with faults at places, and never with an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodusctl.documents.reading import load_documents, read_mapping
from nodusctl.resources.decode import decode
from nodusctl.resources.kinds import KINDS
from nodusctl.resources.project import ProjectSettings, decode_project
from nodusctl.resources.references import check_references, in_dependency_order
from nodusctl.resources.shapes import fields_of

PLAIN = st.sampled_from(
    ["1h", "H100:8", "a", "", "5.00", "010", "3.10", "0.5", "1e9", "-1", "9999999999999999999999", "true", "null", "on", "16Gi", "*"]
)
QUOTED = PLAIN.map(lambda text: f'"{text}"')
TREES = st.recursive(
    PLAIN | QUOTED,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda entries: f"[{', '.join(entries)}]")
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "value",
                    "valueFrom",
                    "type",
                    "gpu",
                    "egress",
                    "allow",
                    "policy",
                    "key",
                    "minWorkers",
                    "maxWorkers",
                    "regions",
                    "volume",
                ]
            ),
            inner,
            max_size=4,
        ).map(lambda fields: "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}")
    ),
    max_leaves=8,
).filter(lambda text: "*" not in text or '"*"' in text)


def spec_texts(names: list[str]) -> st.SearchStrategy[str]:
    return st.dictionaries(st.sampled_from(names), TREES, max_size=6).map(
        lambda fields: "".join(f"\n  {name}: {value}" for name, value in fields.items()) or " {}"
    )


@pytest.mark.parametrize("kind", list(KINDS))
@settings(deadline=None, max_examples=60)
@given(choice=st.data())
def test_any_values_in_the_fields_of_a_kind_are_answered(kind: str, choice: Any) -> None:
    spec = choice.draw(spec_texts(list(fields_of(KINDS[kind].spec_model))))
    metadata = choice.draw(TREES | st.just("{name: x}"))
    loaded = load_documents([("a.yaml", f"apiVersion: nodus.dev/v1\nkind: {kind}\nmetadata: {metadata}\nspec:{spec}\n".encode())])
    decoded = decode(loaded.documents, clock_now=None, project="default")
    assert all(fault.span is not None and fault.summary and not fault.summary.startswith("{") for fault in decoded.diagnostics)
    check_references(decoded.resources)
    in_dependency_order(decoded.resources)
    if loaded.documents and not decoded.resources:
        assert any(fault.is_error for fault in decoded.diagnostics)


@settings(deadline=None, max_examples=60)
@given(spec_texts(list(fields_of(ProjectSettings))))
def test_any_values_in_the_project_file_are_answered(text: str) -> None:
    document, faults = read_mapping("nodusctl.yaml", f"x:{text}".encode())
    if document is None:
        assert faults
        return
    inner = read_mapping("nodusctl.yaml", text.replace("\n  ", "\n").encode())[0]
    if inner is not None:
        found = decode_project(inner)
        assert (found.project is None) == bool(found.diagnostics)
