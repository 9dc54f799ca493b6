"""What a machine's boot document says about its walls: sandbox, limits, egress, cards; and the refusal where this computer can't keep them.

One rule for all of it: what can't be enforced here is refused at launch and never promised before (``egress_policies``, ``notes``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodus_providers.local import egress, sandbox
from nodus_providers.local.cgroups import CONTROLLERS
from nodus_providers.local.limits import Wanted, how, limits_section
from nodus_providers.local.probing import HostAbilities, host_abilities, host_controllers
from nodus_providers.local.programs import current_user
from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.provider.replies import Refused, Scope
from nodusctl.provider.requests import LaunchRequest

if TYPE_CHECKING:
    from nodus_providers.local.settings import LocalSettings

_NOT_ISOLATED = "Machines are not isolated from this computer and from each other"

_IN_A_CONTAINER = (
    "No switch of the kernel forbids them, so whatever started this system does, as containers do by default. Start the container with:\n"
    "    docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined IMAGE"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """The walls of one provider instance's machines. ``path`` is the caller's PATH."""

    settings: LocalSettings
    path: str

    @property
    def abilities(self) -> HostAbilities:
        """What this computer allows, tried at first use; nothing where isolation is switched off."""
        if self.settings.isolation == "off":
            return HostAbilities(obstacle="the setting isolation is off", fix="")
        return host_abilities(self.path)

    @property
    def is_on(self) -> bool:
        """True where a machine launched now gets a sandbox."""
        return self.abilities.can_isolate

    def notes(self) -> tuple[str, ...]:
        """What a person should know before a machine runs here."""
        abilities = self.abilities
        notes = [] if abilities.can_isolate else [f"{_NOT_ISOLATED}: {abilities.obstacle}."]
        if abilities.can_isolate and not abilities.has_network_namespaces:
            notes.append("Egress can't be limited: this computer gives no network namespaces.")
        if lacking := [name for name in CONTROLLERS if name not in host_controllers().parents]:
            notes.append(f"Not every limit holds for a machine as a whole: {_ways(lacking)}.")
        return tuple(notes)

    def walls(self) -> str:
        """What keeps machines apart here, in a few words."""
        abilities = self.abilities
        boxes = "each machine in a sandbox" if abilities.can_isolate else "no sandboxes"
        policies = " or ".join(sorted(abilities.egress_policies))
        return f"{boxes}, egress {policies}, limits: {_ways(CONTROLLERS, is_brief=True)}"

    def refusal(self, request: LaunchRequest) -> Refused | None:
        """Why this computer can't keep what the request asks for."""
        abilities = self.abilities
        if self.settings.isolation == "required" and not abilities.can_isolate:
            return Refused("Unsupported", Scope.ACCOUNT, f"the setting isolation is required, and {abilities.obstacle}")
        if request.egress.policy not in abilities.egress_policies:
            why = abilities.obstacle or "it gives no network namespaces"
            return Refused("Unsupported", message=f"egress {request.egress.policy} can't be enforced on this computer: {why}")
        if unknown := egress.unknown_presets(request.egress):
            return Refused("Invalid", message=f"no such egress preset: {', '.join(unknown)}; there are {', '.join(egress.PRESETS)}")
        return None

    def boot_parts(
        self, folder: Path, boot: Mapping[str, Any], request: LaunchRequest, devices: Sequence[str], variables: Mapping[str, str]
    ) -> dict[str, Any]:
        """What is added to ``boot``, the machine's document. Makes the machine's cgroups.

        Args:
            folder: where the machine's folder will be.
            boot: the document so far.
            request: what is launched.
            devices: device files the machine may open.
            variables: more environment for everything in it.
        """
        # With cards the host is taken whole: what was asked for is a floor there, not a limit.
        asked = (None, None) if devices else (request.memory_bytes, request.cpu_milli)
        wanted = Wanted(memory_bytes=asked[0], cpu_milli=asked[1], has_gpu=bool(devices))
        parts: dict[str, Any] = {"limits": limits_section(host_controllers(), folder.name, wanted), "environment": dict(variables)}
        if not self.is_on:
            return parts
        plan = self._plan(folder, boot, request, devices)
        parts |= {
            "sandbox": sandbox.boot_section(plan, self.abilities.bubblewrap),
            "user": sandbox.USER,
            "home_inside": sandbox.HOME,
            "sshd": {**boot["sshd"], "uses_pam": False},
        }
        if request.egress.policy == "AllowList":
            script = str(folder / "agent" / "egress_proxy.py")
            addresses = {name: str(address) for name, address in self.settings.egressAddresses.items()}
            words = egress.proxy_words(boot["python"], script, request.egress, addresses)
            parts["egress"] = {"port": egress.PORT, "words": list(words)}
            parts["environment"] |= egress.proxy_environment()
        return parts

    def write_files(self, making: Path, folder: Path, boot: Mapping[str, Any], request: LaunchRequest) -> None:
        """The files a sandbox needs in a folder that is being made."""
        if "sandbox" not in boot:
            return
        system = making / "etc" / "system"
        system.mkdir(mode=0o700)
        for name, text in sandbox.made_etc(self._plan(folder, boot, request, ())).items():
            (system / name).write_text(text, encoding="utf-8")
        source = Path(__file__).with_name("egress_proxy.py").read_text(encoding="utf-8")
        (making / "agent" / "egress_proxy.py").write_text(source, encoding="utf-8")

    def findings(self) -> Iterator[Diagnostic]:
        """What this computer lacks for walls, each with the command that mends it."""
        abilities = self.abilities
        if self.settings.isolation == "off":
            return
        severity = error if self.settings.isolation == "required" else warning
        if not abilities.bubblewrap:
            detail = f"{_NOT_ISOLATED}, and egress can't be limited."
            yield severity("ProviderNotReady", "bubblewrap is not installed", detail, _as_root(abilities.fix))
        elif not abilities.has_user_namespaces:
            detail = f"{_NOT_ISOLATED}: {abilities.obstacle}."
            fix = _as_root(abilities.fix) if abilities.fix else _IN_A_CONTAINER
            yield severity("ProviderNotReady", "User namespaces can't be used", detail, fix)
        elif not abilities.has_network_namespaces:
            detail = "Workspaces with egress policy Deny or AllowList are refused here."
            yield warning("Unsupported", "Egress can't be limited", detail, _as_root("sysctl -w user.max_net_namespaces=15000"))
        if abilities.can_isolate and not abilities.has_terminals:
            detail = "Logins get a shell without a terminal."
            yield warning("ProviderNotReady", "A sandbox gets no terminals", detail, _as_root("sysctl -w kernel.pty.max=4096"))
        yield from _limit_findings()

    def _plan(self, folder: Path, boot: Mapping[str, Any], request: LaunchRequest, devices: Sequence[str]) -> sandbox.SandboxPlan:
        shell = current_user()["shell"]
        return sandbox.SandboxPlan(
            machine=folder.name,
            folder=folder,
            vault=str(boot["vault"]),
            home=Path(boot["home"]),
            hostname=request.name[:63].strip("-") or folder.name,
            shell=shell if shell.startswith(("/bin/", "/usr/")) and "nologin" not in shell else "/bin/sh",
            shares_network=request.egress.policy == "Open",
            read_only=program_folders(boot),
            devices=tuple(devices),
        )


def program_folders(boot: Mapping[str, Any]) -> tuple[str, ...]:
    """Folders outside the system that hold what the machine runs: Python, its environment, an unpacked sshd, the browser tools."""
    programs = [boot["python"], sys.executable, boot["sshd"]["program"], *boot.get("programs", {}).values()]
    found: dict[str, None] = {}
    for program in programs:
        for path in (Path(program).absolute(), Path(program).resolve()):
            if path.parts[1:2] not in (("usr",), ("bin",), ("sbin",), ("opt",), ("nix",)):
                found[str(_prefix(path))] = None
    return tuple(found)


def _prefix(program: Path) -> Path:
    """The installation a program belongs to; its own folder alone where that would show somebody's home or more."""
    prefix = program.parent.parent
    home = Path(os.path.realpath(Path.home()))
    return program.parent if prefix == Path("/") or home.is_relative_to(prefix.resolve()) else prefix


def _limit_findings() -> Iterator[Diagnostic]:
    controllers = host_controllers()
    missing = [name for name in ("memory", "cpu") if name not in controllers.parents]
    if missing:
        detail = f"This user has no cgroup of its own for {' and '.join(missing)} ({_ways(missing)})."
        command = (
            f"mkdir -p {_DELEGATION.parent} && printf '[Service]\\nDelegate=cpu memory pids\\n' > {_DELEGATION} && systemctl daemon-reload"
        )
        yield warning("ProviderNotReady", "Not all limits can be enforced by cgroups", detail, _as_root(command))


def _ways(names: Sequence[str], *, is_brief: bool = False) -> str:
    """How each of these limits holds here, those that hold alike together; brief, without what a rlimit counts."""
    found: dict[str, list[str]] = {}
    for name in names:
        way = how(host_controllers(), name)
        found.setdefault(way.partition(",")[0] if is_brief else way, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {way}" for way, alike in found.items())


_DELEGATION = Path("/etc/systemd/system/user@.service.d/delegate.conf")


def _as_root(command: str) -> str:
    return f"Run as root:\n    {command}"
