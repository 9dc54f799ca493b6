"""The sandbox of a machine as bubblewrap's arguments: a read-only system, a small /etc, a /tmp and terminals of its own, its home.

Pure: from what the machine is to see, to the words. The agent raises it and enters it (``inside.py`` there knows the same places under
/run/nodus). Inside, the user is always ``nodus`` with number 1000, whoever runs the machine outside. The surprise: /etc/group has no
group ``tty``; with one, sshd would want to give terminals to it, which an ordinary user may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

USER = "nodus"
USER_NUMBER = "1000"
HOME = "/home/nodus"
INSIDE = "/run/nodus"
AGENT_PARTS = ("agent", "etc", "run")
TOOL_FOLDER = "jupyter"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix")
# What programs read from /etc that names nobody and opens nothing; the rest of it stays outside.
_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "pki", "ssl", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("localtime", "timezone", "profile.d", "bash.bashrc", "inputrc", "terminfo", "mime.types", "protocols", "services", "magic"),
    *("gai.conf", "locale.conf", "locale.alias", "fonts", "python3", "R", "OpenCL", "vulkan", "cuda", "ImageMagick-6"),
    *("ssh/ssh_config", "ssh/ssh_config.d", "gitconfig", "wgetrc"),
)
_MADE_ETC: Mapping[str, str] = MappingProxyType(
    {
        "group": "root:x:0:\nnodus:x:1000:\nnogroup:x:65534:\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
        "shells": "/bin/sh\n/bin/bash\n",
        "profile": '[ -d /etc/profile.d ] && for part in /etc/profile.d/*.sh; do [ -r "$part" ] && . "$part"; done\nunset part\n',
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPlan:
    """What one machine sees. Paths are this computer's; ``read_only`` are shown under their own names; ``devices`` too."""

    machine: str
    folder: Path
    vault: str
    home: Path
    hostname: str
    shell: str = "/bin/bash"
    shares_network: bool = True
    read_only: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    @property
    def temporary(self) -> Path:
        """The machine's own /tmp: a folder on disk, because people put large things there."""
        return self.folder / "tmp"


def sandbox_arguments(plan: SandboxPlan, system_links: Mapping[str, str], resolver: str) -> tuple[str, ...]:
    """All arguments but the program to run.

    Args:
        plan: what the machine sees.
        system_links: the system's folders that are symbolic links (``/bin`` → ``usr/bin``).
        resolver: the file that /etc/resolv.conf leads to, or "".
    """
    return tuple(
        word
        for part in (
            _namespaces(plan),
            _system(system_links),
            _etc(plan, resolver),
            _devices(plan),
            _own(plan),
            (("--remount-ro", "/"), ("--chdir", HOME)),
        )
        for words in part
        for word in words
    )


def made_etc(plan: SandboxPlan) -> dict[str, str]:
    """Name → content of the files of /etc that are made for the machine."""
    return {
        **_MADE_ETC,
        "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\n{USER}:x:{USER_NUMBER}:{USER_NUMBER}::{HOME}:{plan.shell}\n",
        "hostname": f"{plan.hostname}\n",
        "hosts": f"127.0.0.1 localhost {plan.hostname}\n::1 localhost\n",
    }


def system_links() -> dict[str, str]:
    """Which of the system's folders are links on this computer."""
    return {name: str(Path(name).readlink()) for name in _SYSTEM if Path(name).is_symlink()}


def resolver_file() -> str:
    """Where /etc/resolv.conf leads to, often into /run."""
    found = Path("/etc/resolv.conf").resolve()
    return str(found) if found.is_file() else ""


def boot_section(plan: SandboxPlan, program: str) -> dict[str, object]:
    """What the agent needs to raise it: the program, its arguments, folders that must be there before."""
    return {
        "program": program,
        "arguments": list(sandbox_arguments(plan, system_links(), resolver_file() if plan.shares_network else "")),
        "has_own_network": not plan.shares_network,
        "folders": [str(plan.temporary), f"{plan.vault}/{TOOL_FOLDER}", f"{plan.vault}/secrets"],
    }


def _namespaces(plan: SandboxPlan) -> Iterator[tuple[str, ...]]:
    yield ("--unshare-all", "--unshare-user", "--uid", USER_NUMBER, "--gid", USER_NUMBER)
    if plan.shares_network:
        yield ("--share-net",)
    yield ("--die-with-parent", "--hostname", plan.hostname, "--clearenv")
    yield ("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin")
    yield ("--setenv", "NODUSCTL_MACHINE", plan.machine)


def _system(links: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    yield ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        yield ("--symlink", links[name], name) if name in links else ("--ro-bind-try", name, name)
    yield ("--proc", "/proc")
    yield ("--ro-bind-try", "/sys/devices/system", "/sys/devices/system")


def _etc(plan: SandboxPlan, resolver: str) -> Iterator[tuple[str, ...]]:
    for name in _ETC:
        yield ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in made_etc(plan):
        yield ("--ro-bind", str(plan.folder / "etc" / "system" / name), f"/etc/{name}")
    if resolver:
        yield ("--ro-bind-try", resolver, "/etc/resolv.conf")


def _devices(plan: SandboxPlan) -> Iterator[tuple[str, ...]]:
    yield ("--dev", "/dev")
    yield ("--tmpfs", "/dev/shm")
    for path in plan.devices:
        yield ("--dev-bind-try", path, path)
    if plan.devices:
        # The drivers' libraries find the cards there.
        yield ("--ro-bind-try", "/sys", "/sys")


def _own(plan: SandboxPlan) -> Iterator[tuple[str, ...]]:
    yield ("--bind", str(plan.temporary), "/tmp")
    yield ("--dir", "/var")
    yield ("--symlink", "/tmp", "/var/tmp")
    for path in plan.read_only:
        yield ("--ro-bind-try", path, path)
    for part in AGENT_PARTS:
        yield ("--ro-bind", str(plan.folder / part), f"{INSIDE}/{part}")
    yield ("--ro-bind", plan.vault, f"{INSIDE}/vault")
    yield ("--bind", f"{plan.vault}/{TOOL_FOLDER}", f"{INSIDE}/vault/{TOOL_FOLDER}")
    yield ("--ro-bind", f"{plan.vault}/secrets", "/run/secrets")
    yield ("--bind", str(plan.home), HOME)
