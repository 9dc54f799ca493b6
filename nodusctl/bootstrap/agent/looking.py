"""One look at the machine: what its processes, terminals, logins and tools show now.

Made once a minute in a child of the keeper, because tools and drivers can hang and the keeper must not. Ours are the keeper and what it
holds up, every sshd, the service key's logins, and the tools' own servers; what is left is somebody's work. The order matters: what
/proc shows is read before the step into the machine's network, from which there is no way back.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from . import door, edge, graphics, inside, judging, processes, sockets, tool_use, tools
from .layout import Layout, read_json
from .processes import Process
from .samples import Carried, Meter, Sample, Terminal, Work
from .sockets import Connection

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_SEGMENT_OVERHEAD_BYTES = 100
_FIRST_PTS, _LAST_PTS = 136, 143
_PLAIN = re.compile(r"[\w./+-]{1,60}\Z")


class _Login(NamedTuple):
    """One connection to the door: its processes, the sockets its sshd holds, whose it is."""

    pids: set[int]
    sockets: set[str]
    is_ours: bool
    is_person: bool
    command: str


def look(layout: Layout, before: Sample) -> Sample:
    """Look once. Graphics cards are asked only where nothing else speaks for use."""
    rows = processes.of_machine(layout)
    logins = list(_logins(layout, rows))
    sample = Sample(
        clock=edge.boot_clock(),
        wall=time.time(),
        terminals=tuple(_terminals(rows)),
        works=tuple(_works(layout, rows, logins)),
        processes=tuple(processes.registered(layout)),
    )
    with contextlib.suppress(OSError):
        inside.enter_network(layout)
    connections = sockets.established()
    sample = sample._replace(meters=tuple(_meters(layout, logins, connections)), carried=tuple(_carried(layout, logins, connections)))
    if judging.facts_between(before, sample, TICKS_PER_SECOND):
        return sample
    return sample._replace(graphics=graphics.busy(layout.boot.get("cards")))


def described(pid: int) -> str:
    """A process for people: its program and what that runs, such as ``python train.py``; other arguments may hold secrets."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
            words = [word for word in stream.read().split("\0") if word]
    except OSError:
        words = []
    if not words:
        return "a process"
    program = os.path.basename(words[0]).lstrip("-")
    following = words[1:3] if words[1:2] == ["-m"] else words[1:2]
    return " ".join([program, *(word for word in following if _PLAIN.match(word) and (word == "-m" or not word.startswith("-")))])


def _logins(layout: Layout, rows: Mapping[int, Process]) -> Iterator[_Login]:
    listener = processes.recorded(layout.door_file)
    own = door.key_of(layout.boot["service_key"])
    for first in [row.pid for row in rows.values() if listener and row.parent == listener.pid]:
        branch = processes.below(dict(rows), {first}) & set(rows)
        keys = {key for pid in branch for key in door.session_keys(pid)}
        serving = {pid for pid in branch if rows[pid].name.startswith("sshd")}
        held = {inode for pid in serving for inode in processes.sockets_of(pid)}
        others = sorted(branch - serving)
        command = described(others[0]) if others else "forwarding"
        # Somebody who isn't let in yet has no key on record and no process; he must not keep a machine awake.
        is_person = own not in keys if keys else any(_is_let_in(pid) for pid in serving)
        yield _Login(branch, held, own in keys, is_person, command)


def _is_let_in(pid: int) -> bool:
    """What sshd says of itself in its title: the part that serves somebody who was let in names the user and no bracket."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
        title = stream.read().rstrip("\0 ")
        return title.startswith("sshd") and "[" not in title and ": " in title
    return False


def _terminals(rows: Mapping[int, Process]) -> Iterator[Terminal]:
    found: dict[str, list[tuple[int, int]]] = {}
    for pid in rows:
        name, front = _terminal_of(pid)
        if name:
            found.setdefault(name, []).append((pid, front))
    for name, users in found.items():
        path = f"/proc/{users[0][0]}/root/dev/{name}"
        with contextlib.suppress(OSError):
            stat = os.stat(path)
            front = users[0][1] if users[0][1] in rows else users[0][0]
            is_attached = any(f"SSH_TTY=/dev/{name}".encode() in processes.environment(pid) for pid, _ in users)
            yield Terminal(name, stat.st_atime, stat.st_mtime, described(front), path, is_attached)


def _terminal_of(pid: int) -> tuple[str, int]:
    """The terminal a process runs on and the pid of what is in front there; "" and 0 for none."""
    fields = _fields(pid)
    number, front = (int(fields[4]), int(fields[5])) if fields else (0, 0)
    major, minor = (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)
    return (f"pts/{(major - _FIRST_PTS) * 256 + minor}", front) if _FIRST_PTS <= major <= _LAST_PTS else ("", 0)


def _works(layout: Layout, rows: Mapping[int, Process], logins: list[_Login]) -> Iterator[Work]:
    ours = _ours(layout, rows).union(*(login.pids for login in logins if login.is_ours))
    for pid, row in rows.items():
        fields = _fields(pid)
        if pid in ours or not fields:
            continue
        own, ended = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        # What ended below a login's sshd was somebody's; what sshd itself computes isn't.
        own = 0 if row.name.startswith("sshd") else own
        yield Work(f"{pid}:{row.start}", pid, row.parent, own, ended, described(pid))


def _ours(layout: Layout, rows: Mapping[int, Process]) -> set[int]:
    keeper = processes.recorded(layout.keeper_file)
    listener = processes.recorded(layout.door_file)
    standing = tools.standing(layout)
    servers = {int(standing[tool.name]["pid"]) for tool in tools.wanted(layout) if standing.get(tool.name, {}).get("pid")}
    found = {row.pid for row in (keeper, listener) if row} | inside.frame(layout) | servers
    # A child of the keeper that has its program is one that looks or answers.
    return found | {pid for pid, row in rows.items() if keeper and row.parent == keeper.pid and _same_program(pid, keeper.pid)}


def _same_program(pid: int, other: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as one, open(f"/proc/{other}/cmdline", "rb") as two:
        return one.read() == two.read()
    return False


def _meters(layout: Layout, logins: list[_Login], connections: list[Connection]) -> Iterator[Meter]:
    for login, door_side, _ in _channels(layout, logins, connections):
        if login.is_person:
            detail = f"input for {login.command}"
            yield from (Meter("ssh", one.inode, one.received, tool_use.QUIET_BYTES, detail) for one in door_side)
    yield from tool_use.meters(layout, connections)


def _carried(layout: Layout, logins: list[_Login], connections: list[Connection]) -> Iterator[Carried]:
    for _, door_side, tool_side in _channels(layout, logins, connections):
        for one in tool_side if door_side else ():
            # Each piece was wrapped on its way here, and for each 32 KiB on the way back the client says that it has room again.
            total = one.sent + one.segments * _SEGMENT_OVERHEAD_BYTES + one.received // 256
            yield Carried(one.inode, door_side[0].inode, total)


def _channels(
    layout: Layout, logins: list[_Login], connections: list[Connection]
) -> Iterator[tuple[_Login, list[Connection], list[Connection]]]:
    """Each login with its connections to the door and those that it forwards to a tool."""
    door_port, tool_ports = int(read_json(layout.door_file).get("port", 0)), tool_use.ports(layout)
    for login in logins:
        held = [one for one in connections if one.inode in login.sockets]
        yield login, [one for one in held if one.local_port == door_port], [one for one in held if one.remote_port in tool_ports]


def _fields(pid: int) -> list[str]:
    """What /proc/PID/stat says behind the name; empty for no process."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
        return stream.read().rpartition(")")[2].split()
    return []
