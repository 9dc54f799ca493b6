"""At least 2,000 random steps in the lives of two Workspaces, each followed by every promise of ``lives``.

``make soak`` goes on for an hour (``SOAK`` seconds) with other lives each time.
"""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from support.lives import Lives

LIVES, STEPS = int(os.environ.get("LIVES", "50")), 41
SOAK_SECONDS = float(os.environ.get("SOAK", "0"))


@pytest.mark.slow
def test_random_lives_keep_every_promise() -> None:
    """50 lives of 41 steps; with ``SOAK`` such fifties, never the same, until the time is up."""
    until = time.monotonic() + SOAK_SECONDS
    _live()
    while time.monotonic() < until:
        _live()


def _live() -> None:
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not SOAK_SECONDS,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
