"""Talking to a machine we own, over SSH with a pinned host key, or however its platform answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.machines import SshEndpoint
from nodusctl.provider.replies import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """An ed25519 key: OpenSSH PEM private text and the one-line public text (``ssh-ed25519 AAAA… comment``)."""

    private: str = field(repr=False)
    public: str


class KeySource(Protocol):
    """Where new key pairs come from."""

    def new_key(self, comment: str) -> KeyPair:
        """A fresh ed25519 pair."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Everything needed to log in to one machine as the state's service key.

    ``host_key`` is the pinned public key; ``alias`` the HostKeyAlias it is known under.
    """

    provider: str
    machine_id: str
    alias: str
    host_key: str
    service_key: str = field(repr=False)
    endpoint: SshEndpoint | None = None


class Reach(Protocol):
    """One question to the agent. No answer in time is Unknown; another host key is Refused(HostKeyChanged)."""

    def ask(self, access: Access, request: AgentRequest) -> Reply[AgentAnswer]:
        """The agent's answer."""
        ...
