"""The machine's own sshd: its configuration, who is let in, and how that changes while it runs.

Keys arrive as plain public lines and are written out with what each may do: the service key gets its one command, a person's key a
session in the machine's home. A line that brings options of its own is refused, so nobody can push a command of theirs.
"""

from __future__ import annotations

import contextlib
import grp
import os
import re
import shlex
import signal
import socket
import time

from . import inside, processes
from .companions import Companions
from .layout import Layout, read_json, read_text, write_json, write_text

_KEY = re.compile(r"((?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?\Z")
_START_LIMIT_SECONDS = 8.0
_RELOAD_LIMIT_SECONDS = 3.0
_TRIES = 6


def key_of(line: str) -> str:
    """Type and body of a public key line, without its comment; ValueError for anything else."""
    found = _KEY.match(line.strip())
    if found is None:
        raise ValueError("a public key is one line: type, base64 and an optional comment")
    return f"{found[1]} {found[2]}"


def keys_in(text: str) -> list[str]:
    """The keys of an authorized_keys text; blank lines and comments are skipped."""
    return [key_of(line) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def write_admitted(layout: Layout) -> None:
    """Write who may log in now: the service key always, people unless the machine is quiesced."""
    boot = layout.boot
    lines = [f"restrict,command={_quoted(_serve_command(layout))} {key_of(boot['service_key'])}"]
    if not os.path.exists(layout.quiesced_file):
        session = f"exec /bin/sh {shlex.quote(inside.seen(layout, layout.path('etc', 'session')))}"
        lines += [f"command={_quoted(session)} {key}" for key in keys_in(read_text(layout.person_keys_file))]
    write_text(layout.admitted_file, "\n".join(lines) + "\n", is_synced=False)


def _serve_command(layout: Layout) -> str:
    python = shlex.quote(layout.boot["python"])
    if inside.is_isolated(layout):
        knock, gate = (inside.seen(layout, path) for path in (layout.path("agent", "knock.py"), layout.vault_path("gate")))
        return f"exec {python} -I -S {shlex.quote(knock)} {shlex.quote(gate)}"
    return f"cd {shlex.quote(layout.folder)} && exec {python} -B -E -s -S -m agent serve-command"


def write_session_script(layout: Layout) -> None:
    """What a person's login runs: the pushed environment, the home, then a shell or the command that was asked for."""
    environment = shlex.quote(inside.seen(layout, layout.vault_path("environment.sh")))
    secrets = inside.seen(layout, layout.vault_path("secrets"))
    lines = [
        "#!/bin/sh",
        f"export HOME={shlex.quote(inside.home_of(layout))} NODUS_SECRETS={shlex.quote(secrets)}",
        f"[ -r {environment} ] && . {environment}",
        'cd "$HOME" || exit 1',
        'if [ -n "$SSH_ORIGINAL_COMMAND" ]; then exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"; fi',
        'exec "$SHELL" -l',
    ]
    write_text(layout.path("etc", "session"), "\n".join(lines) + "\n", 0o700, is_synced=False)


def write_sshd_config(layout: Layout, port: int) -> str:
    """Write sshd's configuration; returns its path."""
    boot = layout.boot
    sshd = boot["sshd"]
    variables = {processes.MARKER: boot["machine"], "HOME": inside.home_of(layout), **(boot.get("environment") or {})}
    lines = [
        f"ListenAddress {sshd['address']}",
        f"Port {port}",
        f"HostKey {_path(inside.seen(layout, layout.vault_path('host_key')))}",
        f"AuthorizedKeysFile {_path(inside.seen(layout, layout.admitted_file))}",
        f"AllowUsers {boot['user']}",
        "SetEnv " + " ".join(f"{name}={_quoted(value)}" for name, value in variables.items()),
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        f"UsePAM {'yes' if sshd['uses_pam'] else 'no'}",
        # Home and data folders are often group-writable; the files that matter are 0600 and ours.
        "StrictModes no",
        "ExposeAuthInfo yes",
        "PidFile none",
        "PrintMotd no",
        "UseDNS no",
        "X11Forwarding no",
        f"PermitTTY {'yes' if gives_terminals(layout) else 'no'}",
        "ClientAliveInterval 30",
        *(f"{name} {value}" for name, value in sorted(sshd["options"].items())),
    ]
    path = layout.path("etc", "sshd_config")
    write_text(path, "\n".join(lines) + "\n", is_synced=False)
    return path


def gives_terminals(layout: Layout) -> bool:
    """False where sshd would die giving a terminal: without root it can't chown one to the group tty, so the kernel must have done it.

    A login then gets a shell without a terminal instead of a closed connection.
    """
    if os.geteuid() == 0 or inside.is_isolated(layout):  # a sandbox has terminals of its own, and no group tty
        return True
    with contextlib.suppress(OSError, KeyError):
        leader, follower = os.openpty()
        try:
            return os.fstat(follower).st_gid == grp.getgrnam("tty").gr_gid
        finally:
            os.close(leader)
            os.close(follower)
    # No such group: sshd leaves the terminal as it is.
    return True


def start(layout: Layout, companions: Companions) -> inside.Child:
    """Start sshd and wait until it answers; takes another port where the wanted one is in use. OSError says why it can't be."""
    before = read_json(layout.door_file)
    has_opened = bool(before.get("has_opened"))
    wanted = int(before.get("port", 0)) or int(layout.boot["sshd"]["port"])
    for _ in range(_TRIES):
        port = (
            wanted
            if wanted and _is_free(port=wanted, address=layout.boot["sshd"]["address"])
            else _free_port(layout.boot["sshd"]["address"])
        )
        if inside.has_own_network(layout):
            companions.start("relay", _relay_words(layout, port))
        sshd = _launch(layout, port)
        # The pid is on record before anybody can log in.
        _write_door(layout, sshd, port, is_open=False, has_opened=has_opened)
        if _answers_in_time(layout, sshd, port):
            _write_door(layout, sshd, port, is_open=True, has_opened=True)
            return sshd
        sshd.kill()
        wanted = 0
    raise OSError("sshd did not start: " + " ".join(read_text(layout.log_file).splitlines()[-3:]))


def _write_door(layout: Layout, sshd: inside.Child, port: int, *, is_open: bool, has_opened: bool) -> None:
    row = {**processes.identity(sshd.pid), "port": port, "is_open": is_open, "has_opened": has_opened}
    write_json(layout.door_file, row, is_synced=False)


def reload(layout: Layout) -> None:
    """Make sshd read a changed host key, and wait until it listens with it; connections stay."""
    row = processes.recorded(layout.door_file)
    if row is None:
        return
    said_before = _times_listening(layout)
    processes.signal_process(row, signal.SIGHUP)
    deadline = time.monotonic() + _RELOAD_LIMIT_SECONDS
    while _times_listening(layout) == said_before and time.monotonic() < deadline:
        time.sleep(0.01)


def banner(address: str, port: int) -> str:
    """The first line sshd says, or "" where nothing answers within a second."""
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1.0) as connection:
        return connection.recv(64).decode("ascii", "replace").strip()
    return ""


def end_sessions_without_key(layout: Layout) -> None:
    """End connections that have no process let in with a key that is still admitted: a removed key ends what it opened.

    A forwarding-only connection has no process to tell its key by; it ends too, and its owner connects again.
    """
    admitted = {" ".join(line.split()[-2:]) for line in read_text(layout.admitted_file).splitlines()}
    rows = processes.table()
    listener = processes.recorded(layout.door_file)
    for row in [row for row in rows.values() if listener and row.parent == listener.pid]:
        branch = processes.below(rows, {row.pid})
        keys = {key for pid in branch for key in session_keys(pid)}
        if not keys & admitted:
            left_by_sshd = {processes.login_file(pid) for pid in branch}
            for pid in branch:
                processes.signal_process(rows[pid], signal.SIGKILL)
            processes.remove_login_files(left_by_sshd)


def session_keys(pid: int) -> list[str]:
    """The public keys a process of a login was let in with, as sshd wrote them down (ExposeAuthInfo)."""
    path = processes.login_file(pid)
    path = f"/proc/{pid}/root{path}" if path else ""  # a sandbox has a /tmp of its own
    with contextlib.suppress(OSError):
        lines = read_text(path).splitlines() if path else []
        return [line.partition(" ")[2].strip() for line in lines if line.startswith("publickey ")]
    return []


def _relay_words(layout: Layout, port: int) -> list[str]:
    return [layout.boot["python"], "-B", "-E", "-s", "-S", "-m", "agent.relay", layout.folder, str(port)]


def _launch(layout: Layout, port: int) -> inside.Child:
    sshd = layout.boot["sshd"]
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    if sshd["library_path"]:
        environment["LD_LIBRARY_PATH"] = sshd["library_path"]
    return inside.spawn(layout, [sshd["program"], "-D", "-e", "-f", inside.seen(layout, write_sshd_config(layout, port))], environment)


def _answers_in_time(layout: Layout, sshd: inside.Child, port: int) -> bool:
    deadline = time.monotonic() + _START_LIMIT_SECONDS
    while time.monotonic() < deadline and not sshd.has_ended():
        if banner(layout.boot["sshd"]["address"], port).startswith("SSH-") and not sshd.has_ended():
            return True
        time.sleep(0.02)
    return False


def _times_listening(layout: Layout) -> int:
    return read_text(layout.log_file).count("Server listening on")


def _is_free(*, port: int, address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        return True
    return False


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _path(path: str) -> str:
    return _quoted(path.replace("%", "%%"))
