"""The plan hash: what two reviewers compare, equal for two plans that would do the same for the same most money.

It covers project, lineage, serial, Actions with their facts and specs, offers in order with their ceilings, and what was allowed.
Who made the plan, when, prices under an unmoved ceiling, places in files and secret HMACs are not in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nodusctl.base.canonical import digest
from nodusctl.plan.actions import Action
from nodusctl.plan.encoding import as_json
from nodusctl.plan.plan import Plan


def plan_hash(plan: Plan) -> str:
    """64 hex digits of SHA-256 over the canonical JSON of what ``plan`` would do."""
    return digest(hashed_part(plan))


def hashed_part(plan: Plan) -> dict[str, Any]:
    """What the hash is taken over, for showing how two plans differ. On no state the lineage counts as empty."""
    basis = plan.basis
    return {
        "project": basis.project,
        "lineage": "" if basis.is_fresh_state else basis.lineage,
        "serial": basis.serial,
        "actions": [_hashed_action(action) for action in plan.actions],
        "allow": as_json(plan.allow),
    }


def does_the_same(one: Plan, other: Plan) -> bool:
    """True where two plans differ in nothing but the moment of the state they were made at: same Actions on the same facts and offers."""
    apart = {"serial": 0, "lineage": ""}
    return {**hashed_part(one), **apart} == {**hashed_part(other), **apart}


def asks_the_same(one: Action, other: Action) -> bool:
    """True where two Actions differ in nothing but the offers they may be carried out on."""
    return _hashed_action(replace(one, terms=())) == _hashed_action(replace(other, terms=()))


def _hashed_action(action: Action) -> dict[str, Any]:
    return {
        "verb": action.verb.value,
        "address": str(action.address),
        "facts": as_json(action.facts),
        "spec": as_json(action.spec),
        "applied": as_json(action.applied),
        "labels": as_json(action.labels),
        "annotations": as_json(action.annotations),
        "movedFrom": as_json(action.moved_from),
        "discardsHome": action.discards_home,
        **({"restoresRevision": action.restores_revision} if action.restores_revision else {}),
        **({"keepsRevisions": action.keeps_revisions} if action.keeps_revisions else {}),
        "offers": [[terms.offer_key, str(terms.ceiling_usd_per_hour)] for terms in action.terms],
    }
