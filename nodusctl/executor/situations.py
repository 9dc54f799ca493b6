"""Puts a Situation together: what is stored, joined with what this pass has seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.copies import replace
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.executor.built import Built, Load, Loading
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.situation import HomeVolume, Platform, SecretFacts, Sightings, Situation
from nodusctl.ports.journal import StoredObject
from nodusctl.ports.providers import LoadedProvider
from nodusctl.provider.contract import SelfStop


def situation_of(outside: Outside, uid: str, sightings: Sightings, addresses: Mapping[Address, str]) -> Situation | None:
    """The Situation of one object now; None once its record is gone. ``addresses`` finds the home Volume's uid by address.

    Sightings of an Attempt that is over are left out.
    """
    built = outside.built.get(uid)
    if built is None or not built.stands(outside.journal.load):
        built = _built(outside, uid, addresses)
    if built is None:
        return None
    outside.built[uid] = built
    made = built.situation
    terms = made.attempt.terms if made.attempt is not None else None
    budget_left, funds_left = outside.room_for(made.record) if made.record.address.kind == "workspace" else (None, None)
    return replace(
        made,
        now=outside.clock.now(),
        sightings=sightings if sightings.attempt_uid == made.status.attempt_uid else made.sightings,
        budget_left_usd=budget_left,
        funds_left_usd=funds_left,
        last_pass_at=outside.last_pass_of(terms.provider) if terms is not None else None,
    )


def _built(outside: Outside, uid: str, addresses: Mapping[Address, str]) -> Built | None:
    """What is stored, and what this run knows once for all."""
    load = Loading(outside.journal.load)
    stored = load(uid)
    if stored is None:
        return None
    home, home_is_missing = _home(load, stored, addresses)
    current = next((a for a in stored.attempts if a.uid == stored.status.attempt_uid), None)
    situation = Situation(
        now=outside.clock.now(),
        project=outside.project,
        state_id=outside.journal.lineage(),
        record=stored.record,
        status=stored.status,
        attempt=current,
        earlier=tuple(a for a in stored.attempts if current is None or a.uid != current.uid),
        intents=stored.intents,
        entries=stored.entries,
        home=home,
        home_is_missing=home_is_missing,
        platforms=_platforms(outside, stored, home, current),
        sightings=Sightings(attempt_uid=stored.status.attempt_uid),
        secrets=_secrets(load, stored, addresses),
        login_keys=outside.person_keys(stored.record) if stored.record.address.kind == "workspace" else (),
        rules=outside.rules,
    )
    return Built(situation=situation, loaded=tuple(load.loaded))


def claim_key(situation: Situation) -> str:
    """What a step claims: the home Volume where there is one, so that no two objects ever step on one disk."""
    return situation.home.record.uid if situation.home is not None else situation.uid


def _home(load: Load, stored: StoredObject, addresses: Mapping[Address, str]) -> tuple[HomeVolume | None, bool]:
    name = stored.record.spec.get("volume")
    if stored.record.address.kind != "workspace" or not isinstance(name, str):
        return None, False
    uid = addresses.get(Address("volume", name))
    volume = load(uid) if uid else None
    return (HomeVolume(record=volume.record, status=volume.status), False) if volume is not None else (None, True)


def _secrets(load: Load, stored: StoredObject, addresses: Mapping[Address, str]) -> dict[str, SecretFacts]:
    """The Secrets a Workspace mounts or refers to. One that is gone from the state is left out."""
    spec = stored.record.spec
    if stored.record.address.kind != "workspace" or not (spec.get("secrets") or spec.get("env")):
        return {}
    selectors = (((variable.get("valueFrom") or {}).get("secretKeyRef") or {}) for variable in spec.get("env", ()))
    names = {str(mount["name"]) for mount in spec.get("secrets", ())} | {str(s["name"]) for s in selectors if s}
    found = {}
    for name in sorted(names):
        uid = addresses.get(Address("secret", name))
        known = load(uid) if uid else None
        if known is not None and known.status.secret is not None:
            standing = known.status.secret
            numbers = {one.number for one in standing.versions} | {standing.version}
            keys = {number: standing.keys_of(number) or () for number in numbers}
            found[name] = SecretFacts(uid=known.record.uid, version=standing.version, keys=keys)
    return found


def _platforms(outside: Outside, stored: StoredObject, home: HomeVolume | None, attempt: Attempt | None) -> dict[str, Platform]:
    """Platforms that matter: of the approval, of the current Attempt, of the disk. One that can't be loaded is left out."""
    approved = stored.record.approval.terms if stored.record.approval else ()
    names = {t.provider for t in approved} | {i.provider for i in stored.intents}
    names |= {attempt.terms.provider} if attempt is not None and attempt.terms is not None else set()
    for standing in (home.standing if home else None, stored.status.volume):
        if standing is not None and standing.provider:
            names.add(standing.provider)
    found = {name: load_or_none(outside, name) for name in sorted(names)}
    return {name: platform_of(loaded) for name, loaded in found.items() if loaded is not None}


def load_or_none(outside: Outside, instance: str) -> LoadedProvider | None:
    """The instance, or None where it can't be loaded."""
    try:
        return outside.providers.get(instance)
    except UserError:
        return None


def platform_of(loaded: LoadedProvider) -> Platform:
    """What the lifecycle needs of a provider."""
    described = loaded.description
    return Platform(
        instance=loaded.instance,
        holds_volumes=loaded.volumes is not None,
        create_is_idempotent=described.create_is_idempotent,
        list_lag_bound=described.list_lag_bound,
        attaches_at_launch=described.attaches_at_launch,
        disk_outlives_machine=described.disk_outlives_machine,
        self_stop_ends_billing=described.self_stop is not SelfStop.KEEPS_BILLING,
        size_granularity_bytes=described.size_granularity_bytes,
        tools=described.tools,
        prunes_revisions=loaded.pruning is not None,
        account=described.account,
    )


def failed(
    sightings: Sightings, step: str, situation: Situation, code: str, detail: str, *, retry_after: timedelta | None = None
) -> Sightings:
    """One more reply in a row that brought nothing; ``retry_after`` is the patience its platform asked for."""
    waits = {step: situation.now + retry_after} if retry_after is not None else {}
    return replace(
        sightings,
        failures={**sightings.failures, step: sightings.failures.get(step, 0) + 1},
        failed_at={**sightings.failed_at, step: situation.now},
        failure_codes={**sightings.failure_codes, step: code},
        asked_in_vain=detail,
        not_before={**{k: v for k, v in sightings.not_before.items() if k != step}, **waits},
    )


def succeeded(sightings: Sightings, step: str) -> Sightings:
    """The step brought something: its failures are forgotten."""
    gone = {step, f"{step}-pending"}
    return replace(
        sightings,
        failures={k: v for k, v in sightings.failures.items() if k not in gone},
        failed_at={k: v for k, v in sightings.failed_at.items() if k not in gone},
        failure_codes={k: v for k, v in sightings.failure_codes.items() if k not in gone},
        not_before={k: v for k, v in sightings.not_before.items() if k not in gone},
        asked_in_vain="",
    )


def pending(sightings: Sightings, step: str, situation: Situation) -> Sightings:
    """The step is under way outside; ask again after a gap."""
    fresh = succeeded(sightings, step)
    return replace(fresh, failed_at={**fresh.failed_at, f"{step}-pending": situation.now})
