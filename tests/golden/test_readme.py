"""What the README shows is what the program says."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_plan_it_shows_is_how_the_examples_plan_begins() -> None:
    shown = re.search(r"^```console\n\$ nodusctl plan\n(.*?)^```$", (REPOSITORY / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    lines = (REPOSITORY / "plans" / "quickstart" / "01-create.plan.txt").read_text().splitlines()
    assert shown[1].splitlines() == lines[: len(shown[1].splitlines())]
