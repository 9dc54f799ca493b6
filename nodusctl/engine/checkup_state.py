"""``doctor`` on the state: whether it opens, its locks and open intents, its key, and whether its books add up. Takes no lock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from nodusctl.attempts.intents import Intent
from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.exits import UserError
from nodusctl.engine.checkup import Area, HostFacts, clock_findings
from nodusctl.engine.locking import lock_words, unlock_words
from nodusctl.engine.state_keys import unvouched
from nodusctl.ledger.checks import unsound
from nodusctl.ports.claims import Claims, Liveness, LockFacts
from nodusctl.ports.journal import Journal
from nodusctl.ports.keys import StateKeys

_OLD_LOCK = timedelta(minutes=10)


def state_areas(*, journal: Journal, claims: Claims, host: HostFacts, has_own_time: bool) -> Iterator[Area]:
    """Areas of one state. What can't even be opened is a single finding.

    ``has_own_time``: its times are a simulated world's, which say nothing about this computer's clock.
    """
    try:
        exists = journal.exists()
    except UserError as fault:
        yield Area(kind="state", name="opens", note="no", findings=fault.diagnostics)
        return
    if not exists:
        yield Area(kind="state", name="opens", note="not there yet; the first apply creates it")
        return
    facts = journal.facts()
    yield Area(kind="state", name="opens", note=f"schema {facts.get('schema_revision', 'unknown')}, serial {facts.get('serial', 0)}")
    lock = claims.plan_lock()
    yield Area(kind="state", name="lock", note=_lock_note(lock), findings=tuple(_lock_findings(lock, host.now)))
    yield _intents(journal, claims)
    yield _books(journal)
    yield _key(journal)
    operations = () if has_own_time else journal.operations(1)
    for last in operations:
        findings = tuple(clock_findings(host, last_operation=last.at))
        yield Area(kind="state", name="last operation", note=f"{last.at:%Y-%m-%dT%H:%M:%SZ}", findings=findings)


def member_areas(keys: StateKeys) -> Iterator[Area]:
    """Who has the key of a state that several people share; nothing for one with a single key, or that can't be read."""
    try:
        members = keys.members()
    except UserError:
        return  # that it can't be read, or its key is missing, is a finding of its own
    if members:
        people = [one.name for one in members if not one.is_recovery]
        yield Area(kind="state", name="members", note=", ".join(people), findings=unvouched(members))


def _lock_note(lock: LockFacts | None) -> str:
    return "free" if lock is None else f"{lock.id}, holder {lock.liveness.value}"


def _lock_findings(lock: LockFacts | None, now: datetime) -> Iterator[Diagnostic]:
    if lock is None:
        return
    is_old = now - lock.heartbeat_at > _OLD_LOCK
    if lock.liveness is Liveness.DEAD:
        yield warning("Locked", "A lock outlived its holder", lock_words(lock, now), unlock_words(lock))
    elif is_old and lock.liveness is Liveness.UNKNOWN:
        yield warning("Locked", "A lock of another computer has gone silent", lock_words(lock, now), unlock_words(lock))
    elif is_old:
        yield warning("Locked", "A lock has been held for long", lock_words(lock, now), unlock_words(lock))


def _intents(journal: Journal, claims: Claims) -> Area:
    """An open intent is normal while somebody works on its object; left alone it is a step nobody knows the end of."""
    at_work = {uid for uid, _, _, liveness in claims.claimed() if liveness is not Liveness.DEAD}
    left = [one for one in journal.open_intents() if one.object_uid not in at_work]
    findings = tuple(_left_alone(one) for one in left)
    return Area(kind="state", name="open intents", note=str(len(left)), findings=findings)


def _left_alone(intent: Intent) -> Diagnostic:
    since = f"{intent.opened_at:%Y-%m-%dT%H:%M:%SZ}"
    detail = f"{intent.step.value} of {intent.address} at {intent.provider}, open since {since}. {intent.last_detail}".strip()
    fix = "The next apply asks the provider and settles it:\n  nodusctl apply"
    return warning("IntentUnsettled", "A step ended without a known outcome", detail, fix, address=str(intent.address))


def _books(journal: Journal) -> Area:
    settled = [one.uid for one in journal.attempts() if not one.is_open]
    faults = unsound(journal.entries(), settled)
    detail = "; ".join(faults[:5])
    fix = "Nothing may be edited here. Keep a copy, then report it:\n  nodusctl receipts --json"
    findings = (error("LedgerUnsound", "The ledger doesn't add up", f"{detail}.", fix),) if faults else ()
    return Area(kind="state", name="ledger", note="balanced" if not faults else f"{len(faults)} faults", findings=findings)


def _key(journal: Journal) -> Area:
    has_secrets = any(standing.status.secret is not None for standing in journal.snapshot())
    try:
        mark = journal.fingerprint_secret("doctor")
    except UserError as fault:
        return Area(kind="state", name="key", note="not the right one", findings=fault.diagnostics)
    if mark or not has_secrets:
        return Area(kind="state", name="key", note="fits" if mark else "not needed yet")
    fix = "Bring the key file back from where the Secrets were applied, or give its text:\n  export NODUSCTL_STATE_KEY=…"
    missing = error("StateKeyMissing", "The state's key is missing", "Its Secrets can't be opened without it.", fix)
    return Area(kind="state", name="key", note="missing", findings=(missing,))
