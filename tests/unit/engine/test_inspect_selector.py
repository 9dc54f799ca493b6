"""Label selectors."""

from __future__ import annotations

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.engine.inspect_selector import parse_selector

LABELS = {"team": "ml", "tier": "a", "nodus.dev/workspace": "lab"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("team=ml", True),
        ("team==ml,tier=a", True),
        ("team!=ml", False),
        ("owner!=me", True),
        ("team", True),
        ("!owner", True),
        ("!team", False),
        ("tier in (a,b)", True),
        ("tier notin (a, b)", False),
        ("tier in (b),team=ml", False),
        ("nodus.dev/workspace=lab", True),
        ("owner notin (x)", True),
    ],
)
def test_a_selector_selects_as_in_kubectl(text: str, expected: bool) -> None:
    assert parse_selector(text)(LABELS) is expected


@pytest.mark.parametrize("text", ["=ml", "a b", "tier in a", "x,,y", "team=ml;tier=a"])
def test_what_is_no_selector_is_a_usage_error(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_selector(text)
    assert caught.value.exit_code is ExitCode.USAGE
