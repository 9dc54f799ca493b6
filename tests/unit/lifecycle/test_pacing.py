"""How often a starting machine is looked at: by how long a start usually takes, and more often where nobody counts the questions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support import situations as given
from support.situations import situation

from nodusctl.lifecycle.pacing import first_look_after, look_gap

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("usual", "is_own", "first", "gap"),
    [
        (60, False, 30, 3),
        (60, True, 15, 0.6),
        (600, False, 300, 5),
        (600, True, 150, 5),
        (1, False, 0.5, 0.1),
        (1, True, 0.25, 0.1),
    ],
)
def test_looks_follow_the_usual_start(usual: float, is_own: bool, first: float, gap: float) -> None:
    terms = given.terms(startup_p50=usual * SECOND, is_own_hardware=is_own)
    assert first_look_after(terms) == first * SECOND
    assert look_gap(situation(made=given.launched(terms=terms))) == gap * SECOND
