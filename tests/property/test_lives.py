"""At least 2,000 random steps in the lives of two Workspaces, each followed by every promise of ``lives``.

``make soak`` goes on for an hour with other lives each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test
from support.lives import Lives

EXAMPLES, STEPS = int(os.environ.get("LIVES", "50")), 41


@pytest.mark.slow
def test_random_lives_keep_every_promise() -> None:
    """50 lives of 41 steps."""
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="SOAK" not in os.environ,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.normal,
            print_blob=True,
        ),
    )
