"""What this computer allows, tried for real once a process: isolation, a network of one's own, terminals, limits.

Everything that the plan and the doctor say about isolation comes from the value made here; a thing that was not seen to work is not
promised. The surprise: a program that is there may still be forbidden (Ubuntu's AppArmor lets bubblewrap start and denies it everything).
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nodus_providers.local.cgroups import Controllers, writable_controllers

_PROBE_LIMIT_SECONDS = 5.0
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_APPARMOR_SWITCH = "kernel.apparmor_restrict_unprivileged_userns"
_BARE: tuple[str, ...] = ("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent")
_BARE += ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
# Opening the multiplexer makes a terminal, so it fails where none can be made.
_TERMINAL = ": <>/dev/ptmx"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAbilities:
    """What was seen to work. ``bubblewrap`` is the program's path or ""; ``obstacle`` says why machines can't be isolated, or ""."""

    bubblewrap: str = ""
    has_user_namespaces: bool = False
    has_network_namespaces: bool = False
    has_terminals: bool = False
    obstacle: str = ""
    fix: str = ""

    @property
    def can_isolate(self) -> bool:
        """True where a machine can have a sandbox of its own."""
        return bool(self.bubblewrap) and self.has_user_namespaces

    @property
    def egress_policies(self) -> frozenset[str]:
        """The egress policies that the kernel lets us enforce."""
        able = self.can_isolate and self.has_network_namespaces
        return frozenset({"Open", "Deny", "AllowList"} if able else {"Open"})


def host_abilities(search_path: str) -> HostAbilities:
    """Try it; the answer is kept for the life of this process. ``search_path`` is the caller's PATH."""
    return _tried(os.pathsep.join((search_path, _SYSTEM_PATH)))


@functools.lru_cache(maxsize=8)
def host_controllers() -> Controllers:
    """Which cgroup controllers take a machine's group; tried by making one and removing it again."""
    return writable_controllers()


@functools.lru_cache(maxsize=8)
def _tried(search_path: str) -> HostAbilities:
    program = shutil.which("bwrap", path=search_path)
    if program is None:
        return HostAbilities(obstacle="bubblewrap is not installed", fix="apt-get install bubblewrap")
    alone = _run(program, *_BARE, "/bin/sh", "-c", "true")
    if alone and _run(program, *_BARE, "--share-net", "/bin/sh", "-c", "true"):
        return HostAbilities(bubblewrap=program, obstacle=f"user namespaces can't be used ({alone})", fix=namespace_fix())
    has_terminals = not _run(program, *_BARE, "--share-net", "/bin/sh", "-c", _TERMINAL)
    return HostAbilities(bubblewrap=program, has_user_namespaces=True, has_network_namespaces=not alone, has_terminals=has_terminals)


def namespace_fix(system: Path = Path("/proc/sys")) -> str:
    """The command that lets ordinary users make namespaces here, by the kernel's switch that forbids them; "" where none does."""
    if _reads(system / "kernel/apparmor_restrict_unprivileged_userns", "1"):
        return f"sysctl -w {_APPARMOR_SWITCH}=0"
    if _reads(system / "kernel/unprivileged_userns_clone", "0"):
        return "sysctl -w kernel.unprivileged_userns_clone=1"
    return "sysctl -w user.max_user_namespaces=15000" if _reads(system / "user/max_user_namespaces", "0") else ""


def _reads(path: Path, value: str) -> bool:
    try:
        return path.read_text(encoding="utf-8").strip() == value
    except OSError:
        return False


def _run(*words: str) -> str:
    """What went wrong, or ""."""
    try:
        ended = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PROBE_LIMIT_SECONDS, cwd="/", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        return str(fault)
    return "" if ended.returncode == 0 else (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1]
