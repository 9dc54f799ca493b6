"""An intent with what is committed beside it, and what every maker of one needs: its owner's tags, its Attempt, its token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.canonical import digest
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.written import Written
from nodusctl.provider.tokens import Ownership, client_token

HOME_MOUNT = "/home/nodus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """An intent with what is committed beside it."""

    intent: Intent
    written: Written = field(default_factory=Written)
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)


def plain(
    outside: Outside, situation: Situation, kind: StepKind, *, provider: str, request: Mapping[str, Any], target: str, try_number: int = 1
) -> Intended:
    """The intent of one step with its request and its token, and nothing beside it."""
    intent = Intent(
        id=outside.ids.new_uid(),
        object_uid=situation.uid,
        address=situation.record.address,
        target_uid=target,
        attempt_uid=situation.status.attempt_uid,
        step=kind,
        provider=provider,
        token="",
        try_number=try_number,
        request_digest=digest({"step": str(kind), **request}),
        request=request,
        opened_at=situation.now,
    )
    return Intended(intent=_retokened(situation, intent, try_number))


def _retokened(situation: Situation, intent: Intent, try_number: int) -> Intent:
    token = client_token(situation.state_id, intent.target_uid, intent.attempt_uid, try_number, intent.request_digest)
    return replace(intent, token=token, try_number=try_number)


def ownership(outside: Outside, situation: Situation, *, of_home: bool = False) -> Ownership:
    """Whose a machine is, or (``of_home``) a home's disk."""
    record = situation.home.record if of_home and situation.home is not None else situation.record
    return Ownership(
        state_id=situation.state_id,
        project=situation.project,
        object_uid=record.uid,
        address=str(record.address),
        attempt_uid="" if of_home else situation.status.attempt_uid,
        owner=outside.owner,
    )


def attempt_of(situation: Situation) -> Attempt:
    """The Attempt under way."""
    assert situation.attempt is not None, "only an object with an Attempt comes here"
    return situation.attempt


def machine_id_of(situation: Situation) -> str:
    """The machine of the Attempt under way."""
    machine = attempt_of(situation).machine
    assert machine is not None, "only an Attempt with a machine comes here"
    return machine.id


def served_tools(situation: Situation, offered: frozenset[str]) -> tuple[str, ...]:
    """The declared tools this platform serves; VSCode on the desktop needs nothing but SSH."""
    declared = situation.record.spec.get("tools", ["SSH"])
    return tuple(str(tool) for tool in declared if tool in offered)
