"""What a machine on this computer is made of: sshd, its sftp server, Python, a shell; and what to say where one is missing."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodusctl.base.diagnostics import Diagnostic, error, warning

if TYPE_CHECKING:
    from nodus_providers.local.settings import LocalSettings

_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin")
_PRIVILEGE_FOLDER = Path("/run/sshd")
_SFTP_SERVERS = ("lib/openssh/sftp-server", "libexec/openssh/sftp-server", "lib/ssh/sftp-server", "libexec/sftp-server")
_REMOUNT_TERMINALS = "mount -o remount,gid=5,mode=620 /dev/pts"
SSHD_INSTALL = "apt-get install openssh-server"
JUPYTER_FIX = "Install the extra, or name another jupyter-lab by the setting jupyter:\n    pip install 'nodusctl[local]'"


@dataclass(frozen=True, slots=True)
class Programs:
    """Where programs are searched: folders of settings, what ``make`` unpacked under the data folder, PATH, the system's own."""

    settings: LocalSettings
    data_dir: str
    path: str

    def find(self, name: str) -> str | None:
        """A program's path, or None."""
        return shutil.which(name, path=os.pathsep.join(self._folders()))

    def sshd(self) -> str | None:
        """sshd's absolute path (it insists on one), or None."""
        found = self.settings.sshd or self.find("sshd")
        return str(Path(found).absolute()) if found and os.access(found, os.X_OK) else None

    def browser_tools(self) -> dict[str, str]:
        """Path of each browser tool that is here, by the name its agent knows it under."""
        found = {"jupyter-lab": self._jupyter(), "code-server": self._code_server()}
        return {name: path for name, path in found.items() if path}

    def _jupyter(self) -> str:
        beside = Path(sys.executable).parent / "jupyter-lab"
        found = self.settings.jupyter or (str(beside) if os.access(beside, os.X_OK) else self.find("jupyter-lab"))
        return _runnable(found)

    def _code_server(self) -> str:
        installed = Path(self.data_dir) / "code-server" / "bin" / "code-server"
        found = self.settings.codeServer or (str(installed) if os.access(installed, os.X_OK) else self.find("code-server"))
        return _runnable(found)

    def _folders(self) -> Iterator[str]:
        yield from self.settings.programs
        for part in ("usr/sbin", "usr/bin", "usr/local/sbin"):
            yield str(Path(self.data_dir) / "programs" / part)
        yield from self.path.split(os.pathsep)
        yield from _SYSTEM_FOLDERS

    def sshd_section(self, sshd: str) -> dict[str, Any]:
        """How the agent starts this sshd. An unpacked one brings its libraries and its session program along."""
        prefix = Path(sshd).resolve().parent.parent
        is_system = str(prefix) in ("/usr", "/", "/usr/local")
        options = {}
        if sftp := _first(prefix / part for part in _SFTP_SERVERS):
            options["Subsystem"] = f"sftp {sftp}"
        session = _first(prefix / part / "sshd-session" for part in ("lib/openssh", "libexec/openssh", "libexec"))
        if session and not is_system:
            options["SshdSessionPath"] = str(session)
        return {
            "program": sshd,
            "address": "127.0.0.1",
            "port": 0,
            "uses_pam": os.geteuid() == 0 and _is_locked_without_pam(),
            "options": options,
            "library_path": "" if is_system else os.pathsep.join(str(path) for path in sorted(prefix.glob("lib/*-linux-gnu"))),
        }

    def findings(self, *, is_isolated: bool = False) -> tuple[Diagnostic, ...]:
        """What is missing for machines on this computer, each with its fix. A sandbox brings terminals and a shell of its own."""
        if not sys.platform.startswith("linux"):
            return (error("Unsupported", "Local machines need Linux", f"This computer runs {sys.platform}.", "Use another provider."),)
        return tuple(self._findings(is_isolated))

    def _findings(self, is_isolated: bool) -> Iterator[Diagnostic]:
        shell = current_user()["shell"]
        if self.sshd() is None:
            detail = "Each local machine has its own sshd. It needs no root and no running service, only the program."
            yield _missing("sshd is not installed", detail, SSHD_INSTALL)
        # Unlike sshd it isn't called by its path: whoever logs in calls it by its name.
        if shutil.which("ssh", path=self.path or os.defpath) is None:
            yield _missing("The ssh client is not on PATH", "Machines are reached with it.", "apt-get install openssh-client")
        if not is_isolated and os.geteuid() == 0 and not _PRIVILEGE_FOLDER.is_dir() and not os.access(_PRIVILEGE_FOLDER.parent, os.W_OK):
            yield _missing("The folder /run/sshd is missing", "sshd run by root needs it, and it can't be made.", "mkdir -p /run/sshd")
        if not is_isolated and (Path(shell).name in ("nologin", "false") or not os.access(shell, os.X_OK)):
            yield _missing("This user has no login shell", f"sshd would start {shell}.", f"usermod -s /bin/sh {current_user()['name']}")
        if not is_isolated and os.geteuid() != 0 and not _terminals_have_their_group():
            detail = "A login gets a shell without a terminal: sshd without root can't give one to the group tty, and the kernel doesn't."
            yield warning("ProviderNotReady", "Terminals don't belong to the group tty", detail, _as_root(_REMOUNT_TERMINALS))
        if "jupyter-lab" not in self.browser_tools():
            yield warning("Unsupported", "JupyterLab is not installed", "Machines here serve SSH and VS Code only.", JUPYTER_FIX)
        if not Path("/dev/shm").is_dir():
            detail = "Host keys and secrets of a machine lie in its folder on disk until it ends."
            yield warning("ProviderNotReady", "There is no tmpfs for secrets", detail, _as_root("mount -t tmpfs tmpfs /dev/shm"))


def _terminals_have_their_group() -> bool:
    try:
        leader, follower = os.openpty()
    except OSError:
        return False
    try:
        return os.fstat(follower).st_gid == grp.getgrnam("tty").gr_gid
    except KeyError:
        return True
    finally:
        os.close(leader)
        os.close(follower)


def _missing(summary: str, detail: str, command: str) -> Diagnostic:
    return error("ProviderNotReady", summary, detail, _as_root(command))


def _as_root(command: str) -> str:
    return f"Run as root:\n    {command}"


def prepare_privilege_folder() -> None:
    """Make what sshd run by root needs; OSError where it can't be."""
    if os.geteuid() == 0:
        _PRIVILEGE_FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)


def python_program() -> str:
    """The interpreter for the agent: the one a virtual environment was made from, because the machine may outlive the environment."""
    return str(Path(sys.executable).resolve())


def current_user() -> Mapping[str, str]:
    """Name and shell of the user machines run as."""
    entry = pwd.getpwuid(os.geteuid())
    return {"name": entry.pw_name, "shell": entry.pw_shell or "/bin/sh"}


def _runnable(path: str | None) -> str:
    return str(Path(path).absolute()) if path and os.access(path, os.X_OK) else ""


def _first(paths: Iterator[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _is_locked_without_pam() -> bool:
    """True where root's password is locked with ``!``: sshd then lets root in by key only through PAM."""
    try:
        lines = Path("/etc/shadow").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    name = current_user()["name"]
    return Path("/etc/pam.d/sshd").exists() and any(line.startswith(f"{name}:!") for line in lines)
