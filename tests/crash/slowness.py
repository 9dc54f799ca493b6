"""A slow outside, the same in every run: whoever polls is told "not yet" twice before the answer comes.

A computer of today is ready at the first poll or at the fifth, as it happens, so what lies before a second or a last poll could not be
reached for sure. Here each poll is really made, and only its answer is held back: the first two looks through ssh bring nothing, and the
first two answers to a release say that it is under way. Both are answers a slow computer gives by itself.

Polls are what is asked again until it is so. The look that belongs to the handing over of keys is none: it is part of one call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nodusctl.executor.outside import Outside
from nodusctl.ports.providers import LoadedProvider
from nodusctl.ports.reach import Access, Reach
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.machines import Release, ReleaseState
from nodusctl.provider.replies import Done, Reply, Unknown
from nodusctl.provider.requests import ReleaseRequest

HELD_BACK = 2
"""Answers of each poll that are held back: there is then a first, a second and a last one."""


class SlowReach:
    """A Reach whose first answers to each wait for readiness are lost."""

    def __init__(self, inner: Reach) -> None:
        self._inner, self._polls, self._is_within_a_call = inner, 0, False

    def ask(self, access: Access, request: AgentRequest) -> Reply[AgentAnswer]:
        reply = self._inner.ask(access, request)
        if request.command is not AgentCommand.READY:
            self._polls, self._is_within_a_call = 0, "host_key" in (request.files or ())
            return reply
        if self._is_within_a_call:
            self._is_within_a_call = False
            return reply
        self._polls += 1
        return Unknown("its answer was lost") if self._polls <= HELD_BACK else reply


class SlowCalls:
    """A Provider that says of the first releases of each machine that they are under way."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._releases = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def release(self, request: ReleaseRequest) -> Reply[Release]:
        reply: Reply[Release] = self._inner.release(request)
        self._releases += 1
        is_told = isinstance(reply, Done) and self._releases > HELD_BACK
        return reply if is_told or not isinstance(reply, Done) else Done(Release(state=ReleaseState.RELEASING))


class SlowProviders:
    """A ProviderSet of slow instances; this process ends one machine at most, so one count an instance is one a machine."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._loaded: dict[str, LoadedProvider] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get(self, instance: str) -> LoadedProvider:
        if instance not in self._loaded:
            loaded = self._inner.get(instance)
            self._loaded[instance] = replace(loaded, calls=SlowCalls(loaded.calls))
        return self._loaded[instance]


def slowed(outside: Outside) -> Outside:
    """The executor's ports on a slow outside."""
    return replace(outside, providers=SlowProviders(outside.providers), reach=SlowReach(outside.reach))
