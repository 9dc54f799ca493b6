"""A new machine's folder: the agent and what it needs to begin, built beside its place and renamed into it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nodus_providers.local.agents import install_agent
from nodus_providers.local.cards import Cards
from nodus_providers.local.folders import Root, sync_folder, write_json
from nodus_providers.local.guest import kernel_boot_id, vault_folder
from nodus_providers.local.isolation import Isolation
from nodus_providers.local.programs import Programs, current_user, python_program
from nodus_providers.local.trees import remove_tree
from nodusctl.base.canonical import digest
from nodusctl.base.timestamps import format_time
from nodusctl.provider.requests import LaunchRequest

BUNDLE_FORMAT = "nodus-bundle/1"
CARD_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What this computer has for machines: programs, walls, graphics cards."""

    programs: Programs
    isolation: Isolation
    cards: Cards


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What one machine is made of beside the agent: its home (the machine's own where None), devices and variables of its cards."""

    equipment: Equipment
    home: Path | None
    devices: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def build_folder(root: Root, machine_id: str, request: LaunchRequest, parts: Parts) -> None:
    """Make the folder of a new machine, whole or not at all."""
    root.machines.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=root.machines))
    for part in ("agent", "etc", "run"):
        (making / part).mkdir(mode=0o700)
    bundle = bundle_of(request) or {}
    install_agent(root, bundle["agent"], making / "agent")
    _write_private(making / "etc" / "host_key", bundle["host_key"])
    _write_private(making / "etc" / "authorized_keys", "".join(f"{key}\n" for key in bundle["person_keys"]))
    folder = root.machine(machine_id)
    boot = _boot(folder, parts, request, bundle)
    boot |= parts.equipment.isolation.boot_parts(folder, boot, request, parts.devices, parts.variables)
    parts.equipment.isolation.write_files(making, folder, boot, request)
    write_json(making / "boot.json", boot)
    write_json(making / "disks.json", {"disk_ids": [attachment.disk_id for attachment in request.disks]})
    write_json(making / "machine.json", _record(root, request))
    remove_tree(folder)  # at most a folder without a record
    making.rename(folder)
    sync_folder(root.machines)


def _boot(folder: Path, parts: Parts, request: LaunchRequest, bundle: Mapping[str, Any]) -> dict[str, Any]:
    programs = parts.equipment.programs
    return {
        "machine": folder.name,
        "boot_id": f"{folder.name}-{kernel_boot_id()}",
        "edge_seconds": min(request.edge_seconds, int(bundle["edge_seconds"])),
        "idle_timeout_seconds": bundle["idle_timeout_seconds"],
        "cards": [card for name in CARD_VARIABLES for card in parts.variables.get(name, "").split(",") if card],
        "tools": bundle["tools"],
        "service_key": bundle["service_key"],
        "home": str(parts.home or folder / "home"),
        "user": current_user()["name"],
        "python": python_program(),
        "programs": programs.browser_tools(),
        "vault": vault_folder(folder.name, folder / "vault"),
        "sshd": programs.sshd_section(programs.sshd() or ""),
    }


def _record(root: Root, request: LaunchRequest) -> dict[str, Any]:
    return {
        "token": request.token,
        "request_digest": request_digest(request),
        "name": request.name,
        "offer_id": request.offer_id,
        "unit_ids": list(request.unit_ids),
        "tags": dict(request.tags),
        "created_at": format_time(root.wall.now()),
    }


def request_digest(request: LaunchRequest) -> str:
    """What of a request must be the same when its token comes again."""
    disks = [[attachment.disk_id, attachment.mount_path, attachment.is_read_only] for attachment in request.disks]
    asked = [request.name, request.offer_id, request.zone, request.image, request.boot, request.edge_seconds, disks, dict(request.tags)]
    shares = [request.unit_ids, request.cpu_milli, request.memory_bytes, asdict(request.egress)]
    return digest([*asked, *shares])


def bundle_of(request: LaunchRequest) -> dict[str, Any] | None:
    """The boot document, or None where it isn't one this provider can read."""
    try:
        bundle = json.loads(request.boot)
    except ValueError:
        return None
    return bundle if isinstance(bundle, dict) and bundle.get("format") == BUNDLE_FORMAT else None


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
