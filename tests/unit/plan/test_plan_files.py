"""Plan files and plan hashes: what is refused, and what makes two plans the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from support.planning import LAB, OFFERS, WS, applied, document, market, plan

from nodusctl.plan.actions import Action, ActionFacts
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.file import PlanFault, PlanFileError, file_digest, looks_like_plan, read_plan, write_plan
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan


def made() -> Plan:
    return plan(WS, document("Secret", "wandb", "stringData: {token: abcdefgh}"), secret_hmacs={})


def test_a_plan_reads_back_equal() -> None:
    assert read_plan(write_plan(made())) == made()


def test_a_plan_read_back_has_its_fields_in_the_order_they_were_written() -> None:
    orders = [[list(action.applied or {}) for action in one.actions] for one in (made(), read_plan(write_plan(made())))]
    assert orders[0] == orders[1] and any(order != sorted(order) for order in orders[0])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodusplan": "1"}', "apiVersion: nodus.dev/v1"])
def test_what_is_no_plan_is_unreadable(text: str) -> None:
    with pytest.raises(PlanFileError) as refused:
        read_plan(text)
    assert refused.value.fault is PlanFault.UNREADABLE


def test_a_changed_byte_is_seen_by_the_digest() -> None:
    with pytest.raises(PlanFileError) as refused:
        read_plan(write_plan(made()).replace("workspace-cpu", "workspace-xpu"))
    assert refused.value.fault is PlanFault.DIGEST_DIFFERS


def test_a_newer_format_is_told_before_anything_else_in_it() -> None:
    body = json.loads(write_plan(made()))
    with pytest.raises(PlanFileError) as refused:
        read_plan(json.dumps({**body, "nodusplan": 2, "unheard": True}))
    assert refused.value.fault is PlanFault.NEWER_FORMAT


def test_a_plan_is_known_by_its_content_even_when_it_was_cut_off() -> None:
    text = write_plan(made())
    assert looks_like_plan(text) and looks_like_plan(text[:300])
    assert not looks_like_plan(WS) and not looks_like_plan("{}")
    assert len(file_digest(text)) == 64 and file_digest("x") == ""


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="no field"):
        from_json(ActionFacts, {"uid": "u", "mood": "good"})


def test_amounts_times_and_addresses_are_texts() -> None:
    shown = as_json(made())
    lab = next(one for one in shown["actions"] if one["address"] == str(LAB))
    assert lab["terms"][0]["rateUSDPerHour"] == "0.20" and lab["terms"][0]["stopBound"] == "1m"
    assert shown["createdAt"] == "2026-10-26T07:00:00Z"


def test_a_plan_made_again_has_the_same_hash_whoever_makes_it_whenever() -> None:
    again = replace(made(), id="other", created_by="somebody", created_at=made().created_at + timedelta(hours=1))
    assert plan_hash(again) == plan_hash(made())


def test_on_no_state_the_minted_lineage_is_not_hashed_and_on_a_state_it_is() -> None:
    fresh = made()
    assert plan_hash(replace(fresh, basis=replace(fresh.basis, lineage="another"))) == plan_hash(fresh)
    known = plan(WS, snapshot=applied(WS))
    assert plan_hash(replace(known, basis=replace(known.basis, lineage="another"))) != plan_hash(known)


def test_secret_fingerprints_stand_in_the_file_and_not_in_the_hash() -> None:
    secret = document("Secret", "wandb", "stringData: {token: abcdefgh}")
    (one,) = (a.address for a in plan(secret).actions)
    with_hmacs = plan(secret, secret_hmacs={one: {"token": "ff00"}})
    assert "ff00" in write_plan(with_hmacs)
    assert plan_hash(with_hmacs) == plan_hash(plan(secret))
    assert plan(secret).actions[0].notes == ("value taken at apply",)


@pytest.mark.parametrize("change", ["field", "ceiling", "order", "allow", "fact"])
def test_what_changes_the_outcome_changes_the_hash(change: str) -> None:
    base = plan(WS)
    changed = {
        "field": lambda: plan(WS.replace("idleTimeout: 1h", "idleTimeout: 2h")),
        "ceiling": lambda: plan(WS, markets=(market(*OFFERS[1:]),)),
        "order": lambda: replace(base, actions=tuple(replace(a, terms=a.terms[::-1]) for a in base.actions)),
        "allow": lambda: replace(base, allow=replace(base.allow, max_deletes=4)),
        "fact": lambda: replace(base, actions=tuple(_with_generation(a) for a in base.actions)),
    }[change]()
    assert plan_hash(changed) != plan_hash(base)


def _with_generation(action: Action) -> Action:
    return replace(action, facts=replace(action.facts, generation=7))
