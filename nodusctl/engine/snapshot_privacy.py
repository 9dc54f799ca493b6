"""What a snapshot of the state doesn't say, because it may be committed, or lie where anybody can fetch it.

Left out: values of Secrets and their fingerprints (also a keyed one, since whoever got the key could try values against it), keys of
machines, what was done on a machine, requests of open steps, identities of accounts, names of people, logins in a state's URL. What stays
is what a plan compares: specs as they stand in the repository, where things are, how they stand, offers with prices, sums of money.
"""

from __future__ import annotations

from dataclasses import replace

from nodusctl.planner.world import Market
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import ObjectStatus, SecretStanding, SecretVersion


def without_account(market: Market) -> Market:
    """What a provider answered, without the identity of the account and without what it holds there."""
    described = replace(market.description, account="") if market.description is not None else None
    return replace(market, holdings=None, description=described, configured_rate=None)


def without_private(standing: Standing) -> Standing:
    """One object as a plan looks at it."""
    return replace(standing, record=_record(standing.record), status=_status(standing.status))


def _record(record: Record) -> Record:
    approval = record.approval
    if record.address.kind == "sshkey" and record.applied is None:
        # The key of the person who applied first: its comment is mostly user@host.
        record = replace(record, spec={**record.spec, "publicKey": " ".join(str(record.spec.get("publicKey", "")).split()[:2])})
    if approval is None:
        return record
    terms = tuple(replace(one, account="") for one in approval.terms)
    return replace(record, approval=replace(approval, terms=terms, approved_by=""))


def _status(status: ObjectStatus) -> ObjectStatus:
    """Only what a plan looks at: no key of a machine, no trace of what somebody did on it."""
    return ObjectStatus(
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        observed_generation=status.observed_generation,
        epoch=status.epoch,
        attempt_uid=status.attempt_uid,
        stop_reason=status.stop_reason,
        start_is_asked=status.start_is_asked,
        handled_requests=status.handled_requests,
        last_session=status.last_session,
        volume=replace(status.volume, account="") if status.volume is not None else None,
        secret=_secret(status.secret) if status.secret is not None else None,
        session=status.session,
        windows=status.windows,
    )


def _secret(secret: SecretStanding) -> SecretStanding:
    """Names of keys and numbers of versions; nothing a value could be tried against."""
    versions = tuple(SecretVersion(number=one.number, keys=one.keys, created_at=one.created_at) for one in secret.versions)
    return SecretStanding(version=secret.version, hmacs=dict.fromkeys(secret.hmacs, ""), versions=versions)


def without_login(url: str) -> str:
    """A state's URL without user and password, which a database's may carry."""
    scheme, separator, rest = url.partition("://")
    head, slash, tail = rest.partition("/")
    return f"{scheme}{separator}{head.rpartition('@')[2]}{slash}{tail.partition('?')[0]}" if separator else url
