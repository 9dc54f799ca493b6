"""The first-boot document in the form ``bundle``: one JSON text with the agent's source and what it needs to open the door.

It holds one secret, the bootstrap host key of this Attempt; the durable host key and every other secret are pushed after the first
verified login. Equal plans give equal bytes, because the document is part of what a client token stands for.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from nodusctl.base.canonical import canonical_json
from nodusctl.ports.boot import BootPlan

BUNDLE_FORMAT = "nodus-bundle/1"
_AGENT_FOLDER = Path(__file__).parent / "agent"


def render_bundle(plan: BootPlan) -> str:
    """The document, canonical JSON of about 125 KB; nearly all of it is the agent, which is encoded once a process."""
    others = canonical_json(
        {
            "format": BUNDLE_FORMAT,
            "host_key": plan.host_key,
            "service_key": plan.service_key,
            "person_keys": list(plan.person_keys),
            "tools": list(plan.tools),
            "edge_seconds": plan.edge_seconds,
            "idle_timeout_seconds": plan.idle_timeout_seconds,
            "home_mount": plan.home_mount,
        }
    )
    # "agent" comes first in the order of canonical JSON.
    return f'{{"agent":{shared_in_bundles()},{others[1:]}'


@cache
def shared_in_bundles() -> str:
    """The agent as it stands in every document of this version: canonical JSON."""
    return canonical_json(agent_sources())


@cache
def agent_sources() -> dict[str, str]:
    """File name → source of the package ``agent``, as it is put into the machine's folder."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(_AGENT_FOLDER.glob("*.py"))}
