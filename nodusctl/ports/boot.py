"""First-boot documents: what a machine must know before anybody can log in, and who renders it for a platform."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from nodusctl.provider.contract import BootForm


@dataclass(frozen=True, slots=True, kw_only=True)
class BootPlan:
    """What a machine must know before anybody can log in.

    ``host_key`` is the bootstrap host key's OpenSSH PEM; ``service_key`` and ``person_keys`` are public lines. ``edge_seconds`` counts from
    boot. ``idle_timeout_seconds`` None means never. The disk mounted at ``home_mount`` is the home; without one the home is thrown away.
    """

    host_key: str = field(repr=False)
    service_key: str
    person_keys: tuple[str, ...]
    tools: tuple[str, ...]
    edge_seconds: int
    idle_timeout_seconds: int | None
    home_mount: str = "/home/nodus"


class BootRenderer(Protocol):
    """Makes the document in the form a platform takes; equal plans give equal bytes."""

    def render(self, form: BootForm, plan: BootPlan) -> str:
        """The document; empty for a platform that takes none."""
        ...

    def shared(self, form: BootForm) -> str:
        """The long part that every document of this form has in it, and that holds no secret; empty where there is none."""
        ...
