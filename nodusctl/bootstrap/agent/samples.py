"""What one look at a machine has found: plain numbers, nothing judged. A look is made by a child of the keeper and handed over as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Terminal(NamedTuple):
    """A terminal that processes of the machine run on.

    ``read`` and ``written`` are when something was typed and shown, in seconds of the computer's clock, which the kernel keeps to 8 s.
    ``path`` leads to it from outside; ``is_attached``: a person's login sits at it.
    """

    name: str
    read: float
    written: float
    command: str
    path: str
    is_attached: bool


class Work(NamedTuple):
    """A process that isn't ours, with the clock ticks it and its collected children have used. ``key`` is pid and start."""

    key: str
    pid: int
    parent: int
    ticks: int
    ended_ticks: int
    command: str


class Meter(NamedTuple):
    """A counter that means use where it has gone up by more than ``limit`` between two looks; ``key`` tells counters apart."""

    kind: str
    key: str
    total: int
    limit: int
    detail: str


class Carried(NamedTuple):
    """What a login has carried to a tool and is therefore the tool's to judge; ``login`` is the key of the login's meter."""

    key: str
    login: str
    total: int


class Sample(NamedTuple):
    """One look. ``clock`` is the boot clock, ``wall`` the computer's; ``processes`` are registered ones that live."""

    clock: float
    wall: float
    terminals: tuple[Terminal, ...] = ()
    works: tuple[Work, ...] = ()
    meters: tuple[Meter, ...] = ()
    carried: tuple[Carried, ...] = ()
    processes: tuple[str, ...] = ()
    graphics: tuple[tuple[str, int], ...] = ()


_ROWS: Mapping[str, Any] = {"terminals": Terminal, "works": Work, "meters": Meter, "carried": Carried}


def text_of(sample: Sample) -> str:
    """The sample as JSON text."""
    return json.dumps(sample._asdict())


def sample_from(text: str) -> Sample:
    """The sample of a text; ValueError, KeyError or TypeError for anything else."""
    said = dict(json.loads(text))
    rows = {name: tuple(row(*fields) for fields in said[name]) for name, row in _ROWS.items()}
    graphics = tuple((str(name), int(percent)) for name, percent in said["graphics"])
    return Sample(float(said["clock"]), float(said["wall"]), **rows, processes=tuple(said["processes"]), graphics=graphics)
