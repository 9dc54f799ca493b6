"""When a pass of ``tick`` last heard of the machines of a provider instance: the last time anybody knows that they were there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

from nodusctl.ports.passes import Passes


class PassTimes:
    """Answers ``(instance) → moment or None``; reads the passes once, when first asked."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def __call__(self, instance: str) -> datetime | None:
        """The start of the last pass that instance answered; None where none ever was."""
        return self._latest.get(instance)

    @cached_property
    def _latest(self) -> Mapping[str, datetime]:
        latest: dict[str, datetime] = {}
        for one in reversed(self._passes.latest()):
            latest |= dict.fromkeys(one.seen, one.started_at)
        return latest
