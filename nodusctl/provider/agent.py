"""What is said between us and the agent on a machine: five commands, each a JSON document in and one out.

The agent judges idle and the armed edge alone; we only ask. Implementations: the Python agent, a POSIX-sh one for small guests
(later), and platforms that answer themselves (``CanAnswerAgent``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType


class AgentCommand(StrEnum):
    """The forced command's five verbs."""

    READY = "ready"
    FACTS = "facts"
    RENEW = "renew"
    SECRETS = "secrets"
    QUIESCE = "quiesce"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One question.

    RENEW carries ``edge_seconds`` (remaining, on the machine's boot clock), ``idle_timeout_seconds`` (0 for never), or both; None leaves
    one as it is. SECRETS carries ``files`` (path under the agent's folder or /run/secrets → content), among them ``host_key`` and
    ``authorized_keys`` where they change. QUIESCE carries ``grace_seconds``.
    """

    command: AgentCommand
    edge_seconds: int | None = None
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    grace_seconds: int | None = None
    idle_timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """Whether one tool answered its probe; if not, which probe saw what for how long.

    ``has_failed``: it is over its own limit or was given up, and nobody should go on waiting. ``port`` is on the machine's loopback; 0 for
    none.
    """

    name: str
    has_answered: bool
    seen: str = ""
    has_failed: bool = False
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One fact of use: ``kind`` is ssh, tool, process, cpu or gpu, ``detail`` what it was (``python train.py``), ``time`` when."""

    kind: str
    detail: str
    time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """One answer. Fields a command doesn't speak of are None or empty.

    ``remaining_seconds`` is the armed edge as read back; ``pushed_digest`` is SHA-256 over the canonical JSON of the files now in place.
    ``home`` is the home as a session sees it. ``activities`` are the last facts, newest first. ``last_activity_at`` is where idleness
    counts from: the latest fact, or the moment it became ready. ``idle_timeout_seconds`` is as read back, None for never;
    ``idle_remaining_seconds`` is until the idle stop, None where none is ahead. ``warned_terminals`` were told of a stop that is near.
    """

    version: str
    boot_id: str
    remaining_seconds: int | None = None
    has_secrets: bool = False
    tools: tuple[ToolAnswer, ...] = ()
    ready_at: datetime | None = None
    activities: tuple[Activity, ...] = ()
    pushed_digest: str = ""
    is_quiet: bool = False
    home: str = ""
    last_activity_at: datetime | None = None
    idle_timeout_seconds: int | None = None
    idle_remaining_seconds: int | None = None
    warned_terminals: tuple[str, ...] = ()
