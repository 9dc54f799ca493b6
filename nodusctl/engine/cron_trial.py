"""One tick and one look round in an environment as empty as cron's, before anything is written.

What works at a person's terminal fails under cron for one of few reasons: a key, a credential or an agent that lives in a variable, a
program that only the person's PATH finds. So ``doctor`` is run in both worlds, and what it finds only there is what cron would trip over.
The surprise: the tick is a real one. What is due now happens now.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, Severity, error
from nodusctl.base.redaction import looks_secret, one_line
from nodusctl.engine.cron_command import TickCommand

CRON_PATH = "/usr/bin:/bin"
_LIMIT_SECONDS = 900
_STATE_KEY = "NODUSCTL_STATE_KEY"
_AGENT = "SSH_AUTH_SOCK"
_NEVER_COUNTS = frozenset({"NoTicker"})
_CREDENTIAL_CODES = frozenset({"Unauthorized", "Forbidden", "ProviderNotReady", "ProviderIdentityChanged", "TrialFailed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account cron runs as, from the password file and not from HOME."""

    name: str
    home: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried. ``here`` is the person's own environment, ``added`` what the crontab itself sets, ``key_file`` the state key's."""

    command: TickCommand
    account: Account
    here: Mapping[str, str]
    key_file: Path
    added: Mapping[str, str] = field(default_factory=dict)

    @property
    def there(self) -> dict[str, str]:
        """The environment cron gives."""
        account = self.account
        return {"HOME": account.home, "LOGNAME": account.name, "SHELL": "/bin/sh", "PATH": CRON_PATH, **self.added}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended, and its diagnostics; ``rest`` is what was no JSON line."""

    code: int
    diagnostics: tuple[Diagnostic, ...] = ()
    rest: str = ""


def failures_of(trial: Trial) -> tuple[Diagnostic, ...]:
    """What would fail under cron, each with its fix; empty where a tick there is as good as one here."""
    key = tuple(_key_faults(trial))
    if key:
        return key  # without its key a state can't be ticked at all, and a new key must not be made for it
    ticked = _said(trial, "tick", "--quiet", there=True)
    failed = [one for one in ticked.diagnostics if one.severity is Severity.ERROR]
    if ticked.code and not failed:
        failed = [error("TrialFailed", "The tick ended with an error.", f"Exit code {ticked.code}. {_tail(ticked.rest)}".strip())]
    return tuple(explained(one, trial.here, there=trial.there) for one in (*failed, *_missed(trial)))


def _missed(trial: Trial) -> Iterator[Diagnostic]:
    """Findings of ``doctor`` that the person's own environment doesn't have."""
    there = _findings(_said(trial, "doctor", there=True))
    if not there:
        return
    here = _findings(_said(trial, "doctor", there=False))
    yield from (one for name, one in there.items() if name not in here)


def _findings(said: Said) -> dict[tuple[str, str], Diagnostic]:
    worth = (one for one in said.diagnostics if one.severity is not Severity.NOTE and one.code not in _NEVER_COUNTS)
    return {(one.code, one.detail): one for one in worth}


def _key_faults(trial: Trial) -> Iterator[Diagnostic]:
    text, path = trial.here.get(_STATE_KEY, ""), trial.key_file
    if not text:
        return
    try:
        is_same = path.read_text(encoding="utf-8").strip() == text.strip()
    except (OSError, UnicodeDecodeError):
        is_same = False
    if not is_same:
        detail = f"The state's key stands in {_STATE_KEY}, which cron doesn't have, and not in {path}."
        fix = f"Keep it in its file, which only you can read:\n  (umask 077; mkdir -p {path.parent}; printenv {_STATE_KEY} > {path})"
        yield error("StateKeyMissing", "The state's key would be missing under cron.", detail, fix)


def explained(finding: Diagnostic, here: Mapping[str, str], *, there: Mapping[str, str]) -> Diagnostic:
    """The finding as an error, with what the person's environment has and cron's lacks that may be behind it."""
    fix = "\n".join(part for part in (finding.fix, *_remedies(finding, here, there)) if part)
    return replace(finding, severity=Severity.ERROR, fix=fix or "Mend it, then repeat:\n  nodusctl cron install")


def _remedies(finding: Diagnostic, here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    if finding.code in _CREDENTIAL_CODES:
        credentials = sorted(name for name, value in here.items() if name not in there and name != _STATE_KEY and looks_secret(name, value))
        if credentials:
            yield f"Credentials that stand in your environment only ({', '.join(credentials)}) belong in the provider's own file."
        if _AGENT in here and _AGENT not in there:
            yield "Your ssh-agent isn't there under cron; use a key file that needs no passphrase."
        return
    if here.get("PATH", "") != there.get("PATH", ""):
        yield "Where it is a program that your PATH finds, let cron have your PATH:\n  nodusctl cron install --keep PATH"


def _said(trial: Trial, *words: str, there: bool) -> Said:
    line = f"{trial.command.shell(*words)} --json"
    environment = trial.there if there else dict(trial.here)
    folder = Path(trial.account.home) if there else trial.command.folder
    try:
        ended = subprocess.run(
            [environment.get("SHELL", "/bin/sh") if there else "/bin/sh", "-c", line],
            env=environment,
            cwd=folder if folder.is_dir() else "/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return Said(code=1, rest=str(problem))
    read = [_json_of(text) for text in ended.stdout.splitlines()]
    told = tuple(_diagnostic(one) for one in read if one is not None and one.get("type") == "diagnostic")
    return Said(code=ended.returncode, diagnostics=told, rest=ended.stderr)


def _json_of(text: str) -> dict[str, Any] | None:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _diagnostic(read: Mapping[str, Any]) -> Diagnostic:
    def part(name: str) -> str:
        return str(read.get(name, ""))

    return Diagnostic(
        Severity(read.get("severity", "error")),
        code=part("code"),
        summary=part("summary"),
        detail=part("detail"),
        fix=part("fix"),
        field=part("field"),
        address=part("address"),
    )


def _tail(text: str) -> str:
    return one_line(text)[-400:]
