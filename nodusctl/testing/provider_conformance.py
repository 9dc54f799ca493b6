"""The suite every provider passes. Subclass it in a test module of yours and name the class ``Test…``:

    class TestMine(ProviderConformance):
        def make_provider(self, tmp_path):
            return MyProvider.open(a_context(tmp_path), {})

Everything that can be overridden, and why, stands in ``ConformanceHooks``. A capability your provider doesn't have is skipped with its
reason; a mandatory rule is never skipped.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "nodusctl.testing.conformance_hooks",
    "nodusctl.testing.machine_rules",
    "nodusctl.testing.volume_rules",
    "nodusctl.testing.agent_rules",
)

from nodusctl.testing.agent_rules import AgentRules  # noqa: E402 (assertions are rewritten only in modules named before they are imported)
from nodusctl.testing.conformance_hooks import ConformanceHooks, a_context, done  # noqa: E402
from nodusctl.testing.machine_rules import MachineRules  # noqa: E402
from nodusctl.testing.volume_rules import VolumeRules  # noqa: E402

__all__ = ["ConformanceHooks", "ProviderConformance", "a_context", "done"]


class ProviderConformance(MachineRules, VolumeRules, AgentRules):
    """All rules of machines, Volumes and the agent."""
