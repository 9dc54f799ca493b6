"""Everything the executor may touch, as ports. Chosen in ``cli.wiring``; real fakes in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from nodusctl.base.clock import Clock, Wall
from nodusctl.base.ids import IdSource
from nodusctl.lifecycle.situation import Rules
from nodusctl.ports.boot import BootRenderer
from nodusctl.ports.claims import Claims
from nodusctl.ports.journal import Journal
from nodusctl.ports.progress import Progress
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.reach import KeySource, Reach
from nodusctl.state.records import Record


def _keep_nothing(uids: Iterable[str]) -> None:
    """A journal that reads afresh each time has nothing to forget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The ports of one run.

    ``person_keys`` gives the public keys that may log in to a Workspace; ``owner`` is who runs the command; ``forget`` makes the journal
    read some objects afresh, ``age`` those that were read some time ago.
    """

    journal: Journal
    claims: Claims
    providers: ProviderSet
    reach: Reach
    keys: KeySource
    boots: BootRenderer
    clock: Clock
    wall: Wall
    ids: IdSource
    progress: Progress
    project: str
    owner: str
    person_keys: Callable[[Record], tuple[str, ...]]
    rules: Rules = field(default_factory=Rules)
    forget: Callable[[Iterable[str]], None] = _keep_nothing
    age: Callable[[Iterable[str]], None] = _keep_nothing
    call_limit: timedelta = timedelta(minutes=10)
