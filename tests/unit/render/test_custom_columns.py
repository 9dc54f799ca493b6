"""``-o custom-columns``: kubectl's form."""

from __future__ import annotations

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.render.custom_columns import columns_text, parse_columns
from nodusctl.render.style import PLAIN


def test_columns_are_heads_over_paths_and_what_is_missing_is_said() -> None:
    columns = parse_columns("NAME:.metadata.name,TOOL:.spec.tools[0],ALL:{.spec.tools[*]}")
    documents = [{"metadata": {"name": "lab"}, "spec": {"tools": ["SSH", "Jupyter"]}}, {"metadata": {"name": "den"}}]
    assert [line.split() for line in columns_text(columns, documents, PLAIN).splitlines()] == [
        ["NAME", "TOOL", "ALL"],
        ["lab", "SSH", "SSH", "Jupyter"],
        ["den", "<none>", "<none>"],
    ]


@pytest.mark.parametrize("text", ["", "NAME", "NAME:", ":.a", "A:.a,,B:.b", "A:.a b"])
def test_an_unreadable_column_is_a_usage_error(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_columns(text)
    assert caught.value.exit_code is ExitCode.USAGE
