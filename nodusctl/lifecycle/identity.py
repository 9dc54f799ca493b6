"""Whether the provider an object lives at is still the one it was made at (rule R12): the account identity is compared first.

Under another account every machine is absent and every release "works". So no observation counts there, nothing is made and nothing is
deleted, and it never looks like "gone" or "no capacity". An identity that was never written down (an older state) is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp
from nodusctl.state.status import VolumeStanding
from nodusctl.state.terms import Terms


def refused_by_identity(situation: Situation) -> GiveUp | None:
    """Why no step is taken: a machine or disk of this object is at another account than its provider has now; None where all is well."""
    for instance, account in _homes_of(situation):
        platform = situation.platforms.get(instance)
        if platform is not None and differs(account, platform.account):
            return GiveUp(code="ProviderIdentityChanged", because=words(instance, account, platform.account))
    return None


def refused_terms(situation: Situation, terms: Terms) -> GiveUp | None:
    """The same for a start: what was approved at one account is not started at another."""
    platform = situation.platforms.get(terms.provider)
    if platform is None or not differs(terms.account, platform.account):
        return None
    return GiveUp(code="ProviderIdentityChanged", because=words(terms.provider, terms.account, platform.account))


def differs(stored: str, now: str) -> bool:
    """True for two identities that are both known and not the same."""
    return bool(stored and now and stored != now)


def words(instance: str, stored: str, now: str) -> str:
    """What changed, for a person."""
    return f"provider {instance} was the account {stored} and is {now} now"


def _homes_of(situation: Situation) -> Iterator[tuple[str, str]]:
    attempt = situation.attempt
    if attempt is not None and attempt.is_open and attempt.terms is not None:
        yield attempt.terms.provider, attempt.terms.account
    own = situation.status.volume
    for disk in (situation.home.standing if situation.home is not None else None, own):
        if isinstance(disk, VolumeStanding) and disk.disk_id:
            yield disk.provider, disk.account
