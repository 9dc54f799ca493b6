"""Intents told to a machine that is there: what is pushed to it, when it ends, and that it is to go quiet or go."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from nodusctl.attempts.intents import StepKind
from nodusctl.base.timestamps import format_time
from nodusctl.executor.intended import Intended, attempt_of, machine_id_of, plain, served_tools
from nodusctl.executor.outside import Outside
from nodusctl.executor.pushing import token_name
from nodusctl.ledger.balances import balances
from nodusctl.lifecycle.edges import hold_until
from nodusctl.lifecycle.money import captures_until, renewal_entries
from nodusctl.lifecycle.pinning import pin_of
from nodusctl.lifecycle.renewing import idle_seconds
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    PushSecrets,
    Renew,
)
from nodusctl.lifecycle.written import Written

TOOLS_WITH_TOKEN = frozenset({"Jupyter", "VSCode"})
"""Tools that answer in a browser, each with the Attempt's token."""


def push(outside: Outside, situation: Situation, step: PushSecrets) -> Intended:
    """What is pushed, by name and version; the values stay in the vault until the call is made.

    The browser tools' token is made with the first push of the Attempt and stays the same for later ones.
    """
    spec, terms = situation.record.spec, attempt_of(situation).terms
    assert terms is not None
    request = {
        "machine_id": machine_id_of(situation),
        "secrets": [_pinned(situation, str(mount["name"])) for mount in spec.get("secrets", ())],
        "env": [_variable(situation, variable) for variable in spec.get("env", ())],
        "keys_digest": situation.login_keys_digest,
        "tools": [tool for tool in served_tools(situation, situation.platforms[terms.provider].tools) if tool in TOOLS_WITH_TOKEN],
    }
    intended = plain(outside, situation, StepKind.PUSH, provider=terms.provider, request=request, target=situation.uid)
    name = token_name(attempt_of(situation).uid)
    is_new = bool(request["tools"]) and outside.journal.secret(name) is None
    return replace(intended, sealed={name: secrets.token_hex(24)}) if is_new else intended


def _pinned(situation: Situation, name: str) -> dict[str, Any]:
    """One Secret with the version it is pinned to and that version's keys."""
    pin = pin_of(situation, name)
    assert pin is not None and pin.keys is not None, "missing_secret() was asked before"
    return {"name": name, "uid": pin.uid, "version": pin.version, "keys": list(pin.keys)}


def _variable(situation: Situation, variable: Mapping[str, Any]) -> dict[str, Any]:
    selector = (variable.get("valueFrom") or {}).get("secretKeyRef")
    if selector is None:
        return {"name": variable["name"], "value": str(variable.get("value", ""))}
    return {"name": variable["name"], "key": selector["key"], "secret": _pinned(situation, str(selector["name"]))}


def renew(outside: Outside, situation: Situation, step: Renew) -> Intended:
    """The larger hold is committed with the intent, before the machine is told; ``until`` is a moment: a late call asks for less."""
    attempt = attempt_of(situation)
    assert attempt.terms is not None
    request = {
        "machine_id": machine_id_of(situation),
        "until": format_time(step.until),
        "bound": step.bound,
        "idle_seconds": idle_seconds(situation),
        "asked": format_time(situation.now),
    }
    intended = plain(outside, situation, StepKind.RENEW, provider=attempt.terms.provider, request=request, target=situation.uid)
    captured = captures_until(attempt, situation.entries, situation.now, situation.now)
    hold = hold_until(situation, attempt, step.until, balances((*situation.entries, *captured)))
    entries = renewal_entries(attempt, situation.entries, hold, situation.now)
    return replace(intended, written=Written(entries=entries))


def grace(outside: Outside, situation: Situation) -> Mapping[str, Any]:
    """How long what people run is given to end."""
    return {"grace_seconds": int(situation.rules.quiesce_grace / timedelta(seconds=1))}


def on_machine(kind: StepKind, extra: Callable[[Outside, Situation], Mapping[str, Any]]) -> Callable[..., Intended]:
    """A maker of intents that name the machine and ``extra``."""

    def make(outside: Outside, situation: Situation, step: object) -> Intended:
        terms = attempt_of(situation).terms
        assert terms is not None
        request = {"machine_id": machine_id_of(situation), **extra(outside, situation)}
        return plain(outside, situation, kind, provider=terms.provider, request=request, target=situation.uid)

    return make
