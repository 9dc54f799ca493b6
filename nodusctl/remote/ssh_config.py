"""Entries for the user's own ssh, and putting them where it finds them: a file of ours and one Include line at the top of the user's.

The user's file is never rewritten but for that line, its mode is kept, and what it was stands beside it once. Each project owns one section
of our file and replaces no other.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HEAD = "# Written by `nodusctl ssh-config --install`, a section a project; what is changed here by hand is lost with the next one.\n"
_MARK = "# nodusctl "
_BEGIN = f"{_MARK}begin "


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """One Workspace. ``user`` is "" where no machine has told it yet; ``proxy`` are the ProxyCommand's words before the host."""

    name: str
    alias: str
    user: str
    known_hosts: str
    identity: str
    proxy: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """``entries`` and ``config`` are the two files; ``backup`` is "" where the user's file was not changed."""

    entries: Path
    config: Path
    backup: str = ""


def entry_text(entry: HostEntry) -> str:
    """The lines of one Host. Checking is strict and nothing but the pinned key is accepted, as in our own logins."""
    proxy = " ".join(shlex.quote(word) for word in entry.proxy).replace("%", "%%")
    lines = [
        _host_line(entry.name),
        *([f"User {entry.user}"] if entry.user else []),
        f"HostKeyAlias {entry.alias}",
        f"UserKnownHostsFile {_quoted(entry.known_hosts)}",
        "GlobalKnownHostsFile none",
        "StrictHostKeyChecking yes",
        "HostKeyAlgorithms ssh-ed25519",
        "CheckHostIP no",
        "UpdateHostKeys no",
        "VerifyHostKeyDNS no",
        f"IdentityFile {_quoted(entry.identity)}",
        "IdentitiesOnly yes",
        "ServerAliveInterval 15",
        f"ProxyCommand {proxy} %h",
    ]
    return lines[0] + "\n" + "".join(f"  {line}\n" for line in lines[1:])


def section_text(project: str, entries: Sequence[HostEntry]) -> str:
    """All entries of one project between its two marks; ``project`` is the folder it lies in."""
    body = "\n".join(entry_text(entry) for entry in entries)
    return f"{_mark('begin', project)}{body}{_mark('end', project)}"


def install(ssh_folder: Path, project: str, section: str) -> Installed:
    """Put the section into our file and the Include into the user's; again changes nothing. OSError where a file can't be written."""
    ssh_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    entries, config = ssh_folder / "config.d" / "nodusctl", ssh_folder / "config"
    entries.parent.mkdir(mode=0o700, exist_ok=True)
    before = _read(entries)
    after = _with_section(before or _HEAD, project, section)
    if after != before:
        _replace(entries, after, 0o600)
    return Installed(entries=entries, config=config, backup=_include(config, entries))


def has_entry(ssh_folder: Path, project: str, name: str) -> bool:
    """True where this project's section has an entry of that name."""
    return bool(pinned_alias(ssh_folder, project, name))


def pinned_alias(ssh_folder: Path, project: str, name: str) -> str:
    """The alias whose host key this project's entry of that name takes; "" where there is no such entry."""
    text = _read(ssh_folder / "config.d" / "nodusctl")
    section = text.partition(_mark("begin", project))[2].partition(_mark("end", project))[0]
    entry = section.partition(f"{_host_line(name)}\n")[2].partition("\nHost ")[0]
    found = re.search(r"^  HostKeyAlias (\S+)$", entry, re.MULTILINE)
    return found[1] if found else ""


def first_with(ssh_folder: Path, name: str) -> str:
    """The project whose entry ssh takes for the host ``name``, the first in our file; "" where there is none."""
    line, project = _host_line(name), ""
    for row in _read(ssh_folder / "config.d" / "nodusctl").splitlines():
        if row.startswith(_BEGIN):
            project = row.removeprefix(_BEGIN)
        elif row == line:
            return project
    return ""


def _with_section(text: str, project: str, section: str) -> str:
    begin, end = _mark("begin", project), _mark("end", project)
    if begin in text and end in text:
        head, _, rest = text.partition(begin)
        return head + section + rest.partition(end)[2]
    return f"{text}\n{section}"


def _include(config: Path, entries: Path) -> str:
    """Add the line where it is missing; the path of the backup, or ""."""
    # An Include anywhere but before the first Host would be part of that Host.
    line = f"Include {_quoted(str(entries))}\n"
    target = Path(os.path.realpath(config))
    before = _read(target)
    for_every_host = re.split(r"(?im)^\s*(?:host|match)\s", before, maxsplit=1)[0]
    if any(str(entries) in named for named in re.findall(r"(?im)^\s*include\s+(.*)$", for_every_host)):
        return ""
    backup = ""
    if before:
        backup = f"{target}.before-nodusctl"
        if not Path(backup).exists():
            _replace(Path(backup), before, 0o600)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    _replace(target, f"{line}\n{before}" if before else line, mode)
    return backup


def _replace(path: Path, text: str, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".nodusctl-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _host_line(name: str) -> str:
    return f"Host {name} nodus-{name}"


def _mark(which: str, project: str) -> str:
    return f"{_MARK}{which} {project}\n"


def _quoted(path: str) -> str:
    return '"' + path.replace("%", "%%") + '"'
