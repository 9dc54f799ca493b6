"""The five commands behind the service key: ready, facts, renew, secrets, quiesce. One line of JSON in, one out, as often as asked.

A login costs the most of a question, so one login may ask several; after some seconds of silence it is ended from here.
A refusal is an answer too: ``{"error": {"code": …, "message": …}}``. Every command that changes something answers from what it reads back.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shlex
import signal
import time
from collections.abc import Mapping
from typing import Any, TextIO

from . import activity, door, edge, inside, processes, tools
from .layout import VERSION, Layout, read_json, read_text, timestamp, write_json, write_text

_LONGEST_REQUEST = 16 * 2**20
_SILENCE_SECONDS = 10.0
_DEFAULT_GRACE_SECONDS = 30
_PUSHED = "pushed.json"
_PATIENCE_SECONDS = 10.0
_GLANCE_SECONDS = 0.05


class _RefusedError(Exception):
    """What was asked can't be; ``code`` is a registered reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(layout: Layout, source: TextIO, sink: TextIO, handle: int = -1) -> int:
    """Answer request after request until there are no more; always exits 0, so that ssh's own failures can be told apart.

    ``handle`` is the descriptor of ``source``, by which silence is noticed.
    """
    while handle < 0 or select.select([handle], [], [], _SILENCE_SECONDS)[0]:
        line = source.readline(_LONGEST_REQUEST)
        if not line:
            break
        sink.write(json.dumps(_answered(layout, line)) + "\n")
        sink.flush()
        if not line.endswith("\n"):
            break
    return 0


def _answered(layout: Layout, line: str) -> dict[str, Any]:
    try:
        return _answer(layout, json.loads(line))
    except _RefusedError as refusal:
        return {"error": {"code": refusal.code, "message": str(refusal)}}
    except (ValueError, KeyError, TypeError) as fault:
        return {"error": {"code": "Invalid", "message": f"{type(fault).__name__}: {fault}"}}


def _answer(layout: Layout, request: dict[str, Any]) -> dict[str, Any]:
    command = request["command"]
    is_quiet = False
    if command == "renew":
        _renew(layout, request)
    elif command == "secrets":
        _push(layout, request["files"])
    elif command == "quiesce":
        grace_seconds = request.get("grace_seconds")
        is_quiet = _quiesce(layout, _DEFAULT_GRACE_SECONDS if grace_seconds is None else grace_seconds)
    elif command not in ("ready", "facts"):
        raise _RefusedError("Unsupported", "the commands are ready, facts, renew, secrets and quiesce")
    named = request.get("files") or {}
    standing = _standing(layout, is_patient=command == "ready")
    return {**standing, "is_quiet": is_quiet, "pushed_digest": _digest(layout, list(named) or _pushed(layout))}


def _renew(layout: Layout, request: Mapping[str, Any]) -> None:
    """Move the edge, or change the idle timeout, or both; nothing where either is wrong."""
    seconds, idle_seconds = request.get("edge_seconds"), request.get("idle_timeout_seconds")
    if seconds is None and idle_seconds is None:
        raise _RefusedError("Invalid", "a renewal carries edge_seconds or idle_timeout_seconds")
    if seconds is not None and (type(seconds) is not int or seconds <= 0):
        raise _RefusedError("Invalid", "edge_seconds is a positive whole number")
    if idle_seconds is not None and (type(idle_seconds) is not int or idle_seconds < 0):
        raise _RefusedError("Invalid", "idle_timeout_seconds is a whole number of seconds, 0 for never")
    if idle_seconds is not None:
        activity.change_timeout(layout, idle_seconds)
    if seconds is not None:
        edge.arm(layout, seconds)


def _standing(layout: Layout, *, is_patient: bool) -> dict[str, Any]:
    boot = layout.boot
    answers = _tool_answers(layout, _PATIENCE_SECONDS if is_patient else 0.0)
    return {
        "version": VERSION,
        "boot_id": boot["boot_id"],
        "remaining_seconds": max(0, int(edge.remaining_seconds(layout))),
        "has_secrets": os.path.exists(layout.vault_path(_PUSHED)),
        "tools": answers,
        "home": tools.home_of(layout),
        "ready_at": _ready_at(layout, all(answer["has_answered"] for answer in answers)),
        **activity.standing(layout),
    }


def _tool_answers(layout: Layout, patience_seconds: float) -> list[dict[str, Any]]:
    """What each declared tool says. A tool that is just starting is waited for a little, which costs less than to be asked again."""
    deadline = time.monotonic() + patience_seconds
    found = {name: tools.answer(layout, name) for name in layout.boot["tools"]}
    # Whoever has answered isn't asked again: each question to sshd starts a process.
    while starting := [name for name, one in found.items() if one.get("port") and not one["has_answered"] and not one["has_failed"]]:
        if time.monotonic() > deadline:
            break
        time.sleep(_GLANCE_SECONDS)
        found.update({name: tools.answer(layout, name) for name in starting})
    return list(found.values())


def _ready_at(layout: Layout, has_answered: bool) -> str | None:
    """When all tools first answered with what was pushed to them; a moment that never moves."""
    if has_answered and not os.path.exists(layout.ready_file):
        write_json(layout.ready_file, edge.moment())
    return read_json(layout.ready_file).get("time")


def _push(layout: Layout, files: Mapping[str, str]) -> None:
    if os.path.exists(layout.quiesced_file):
        raise _RefusedError("Conflict", "the machine is quiesced")
    places = {name: _place(layout, name) for name in files}
    removed = set(door.keys_in(read_text(layout.person_keys_file))) - set(door.keys_in(files.get("authorized_keys", "")))
    environment = _environment_script(json.loads(files["environment"])) if "environment" in files else None
    before = read_text(layout.vault_path("host_key"))
    for name, (path, mode) in places.items():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_text(path, files[name], mode)
    if environment is not None:
        write_text(layout.vault_path("environment.sh"), environment, 0o400)
    if "authorized_keys" in files:
        door.write_admitted(layout)
        if removed:
            door.end_sessions_without_key(layout)
    if read_text(layout.vault_path("host_key")) != before:
        door.reload(layout)
    _remember(layout, files)
    keeper = processes.recorded(layout.keeper_file)
    if tools.PUSHED in files and keeper is not None:
        processes.signal_process(keeper, signal.SIGUSR1)


def _remember(layout: Layout, files: Mapping[str, str]) -> None:
    is_first = not os.path.exists(layout.vault_path(_PUSHED))
    write_json(layout.vault_path(_PUSHED), {"names": sorted({*_pushed(layout), *files})})
    if is_first and os.path.exists(layout.ready_file):
        os.unlink(layout.ready_file)


def _pushed(layout: Layout) -> list[str]:
    return list(read_json(layout.vault_path(_PUSHED)).get("names", []))


def _place(layout: Layout, name: str) -> tuple[str, int]:
    """Where a pushed file lies and its mode; Invalid for any name outside."""
    fixed = {
        "host_key": (layout.vault_path("host_key"), 0o600),
        "authorized_keys": (layout.person_keys_file, 0o600),
        "environment": (layout.vault_path("environment.json"), 0o400),
        tools.PUSHED: (layout.vault_path(tools.PUSHED), 0o400),
    }
    if name in fixed:
        return fixed[name]
    parts = name.lstrip("/").split("/")
    if parts[:2] != ["run", "secrets"] or len(parts) < 3 or {"", ".", ".."} & set(parts):
        raise _RefusedError("Invalid", "a pushed file is host_key, authorized_keys, environment, tools.json or lies under run/secrets/")
    return layout.vault_path("secrets", *parts[2:]), 0o400


def _environment_script(variables: Mapping[str, str]) -> str:
    lines = []
    for name, value in sorted(variables.items()):
        if not name.replace("_", "a").isalnum() or name[0].isdigit():
            raise _RefusedError("Invalid", "a variable's name is letters, digits and underscores")
        lines.append(f"export {name}={shlex.quote(str(value))}")
    return "\n".join([*lines, ""])


def _digest(layout: Layout, names: list[str]) -> str:
    """SHA-256 over the canonical JSON of name → content as they lie on the machine now."""
    in_place = {name: read_text(_place(layout, name)[0]) for name in names}
    text = json.dumps(in_place, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest() if names else ""


def _quiesce(layout: Layout, grace_seconds: float) -> bool:
    """Close the door to people, end what they run, write everything to disk; True when nothing of theirs is left."""
    write_json(layout.quiesced_file, {"since": timestamp()})
    door.write_admitted(layout)
    keepers = {row.pid for row in (processes.recorded(layout.keeper_file), processes.recorded(layout.door_file)) if row}
    own = processes.ancestors(processes.table(), os.getpid())
    left = processes.end_all(layout, keepers | own | inside.frame(layout) | _service_connections(layout), grace_seconds)
    os.sync()
    return left == 0


def _service_connections(layout: Layout) -> set[int]:
    """Processes of other service logins that are under way."""
    own = door.key_of(layout.boot["service_key"])
    rows = processes.of_machine(layout)
    serving = {pid for pid in rows if own in door.session_keys(pid)}
    return serving.union(*(processes.ancestors(rows, pid) for pid in serving)) if serving else set()
