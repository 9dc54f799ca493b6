"""What a plan says of a home's revisions and of the Secrets a Workspace names, before anything is asked of a provider."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.planning import HOME, LAB, NOW, WS, applied, codes, document, market, plan, running, with_disk, with_status, workspace

from nodusctl.base.ids import Address
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.plan import Plan
from nodusctl.planner.world import HomeChange
from nodusctl.render.plan_text import plan_text
from nodusctl.render.style import Style
from nodusctl.state.requests import asked_at, prune_request, read_prune, read_restore, restore_request
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import SavedRevision, SecretStanding, VolumeStanding

WANDB = Address("secret", "wandb")
STORED = SecretStanding(version=0, hmacs={}).followed_by({"A": "h1"}, NOW, "ada").followed_by({"A": "h2", "B": "h3"}, NOW, "ada")


def saved(*numbers: int) -> Snapshot:
    snapshot = with_disk(applied(WS))
    disk = snapshot.standings[HOME].status.volume
    assert disk is not None
    revisions = tuple(SavedRevision(number=one, id=f"r{one}", saved_at=NOW, attempt_uid="a") for one in numbers)
    return with_status(snapshot, HOME, volume=replace(disk, revisions=revisions))


def with_secret(standing: SecretStanding = STORED) -> Snapshot:
    return with_status(applied(document("Secret", "wandb", "data: {A: YQ==, B: Yg==}")), WANDB, secret=standing)


def test_a_restore_stands_in_the_plan_as_text_and_survives_its_file() -> None:
    made = plan(snapshot=saved(1, 2, 3), home_change=HomeChange(volume=HOME, restores=2))
    text = plan_text(made, Style())
    assert "<< volume/lab-home  restore" in text
    assert "disk  revision 3 -> revision 2" in text
    assert "Plan: 1 to restore." in text
    assert from_json(Plan, as_json(made)) == made


def test_a_plan_of_revisions_compares_no_file_and_removes_nothing() -> None:
    made = plan(snapshot=saved(1, 2), home_change=HomeChange(volume=HOME, keeps=1))
    assert [action.address for action in made.actions] == [HOME]


def test_a_home_at_a_provider_that_gives_no_answer_is_not_restored_now() -> None:
    made = plan(snapshot=saved(1, 2), home_change=HomeChange(volume=HOME, restores=1), markets=(market(why_not="it gave no answer"),))
    assert {(reason.code, reason.address) for reason in made.reasons} >= {("ProviderNotReady", HOME)}
    without = plan(snapshot=saved(1, 2), home_change=HomeChange(volume=HOME, restores=1), markets=())
    assert codes(without) == ["ProviderNotReady"]


def test_requests_are_read_as_they_were_written_and_never_equal_the_one_before() -> None:
    disk = VolumeStanding(revisions=(SavedRevision(number=3, id="r3", saved_at=NOW, attempt_uid="a"),), is_newer_than_revision=True)
    first = restore_request(1, disk, NOW)
    assert first == f"1 over 3+@{NOW:%Y-%m-%dT%H:%M:%S}Z"
    wanted = read_restore({"nodus.dev/restore-requested": first})
    assert wanted is not None and (wanted.number, wanted.over) == (1, "3+")
    assert asked_at(first, NOW) == NOW + timedelta(milliseconds=1)
    assert read_prune({"nodus.dev/prune-requested": prune_request(2, NOW)}) == 2
    assert read_restore({}) is read_prune({}) is None


@pytest.mark.parametrize(("version", "is_there"), [(1, True), (2, True), (3, False)])
def test_a_mount_may_pin_any_stored_version_and_no_other(version: int, is_there: bool) -> None:
    made = plan(workspace(spec=f"ephemeral: true, secrets: [{{name: wandb, version: {version}}}]"), snapshot=with_secret())
    assert ("NotFound" in codes(made)) is not is_there


def test_a_version_that_this_very_plan_makes_may_be_pinned() -> None:
    texts = (
        document("Secret", "wandb", "data: {A: YQ==, B: Yg==}"),
        workspace(spec="ephemeral: true, secrets: [{name: wandb, version: 3}]"),
    )
    assert codes(plan(*texts, snapshot=with_secret(), secret_hmacs={WANDB: {"A": "other", "B": "h3"}})) == []
    assert codes(plan(*texts, snapshot=with_secret(), secret_hmacs={WANDB: {"A": "h2", "B": "h3"}})) == ["NotFound"]


def test_a_running_workspace_whose_secrets_do_not_change_is_not_looked_at_again() -> None:
    text = workspace(spec="ephemeral: true, secrets: [{name: wandb, version: 1}]")
    state = running(applied(text, snapshot=with_secret()), LAB)
    gone = with_status(state, WANDB, secret=replace(STORED, versions=STORED.versions[1:]))
    assert codes(plan(text, document("Secret", "wandb", "data: {A: YQ==, B: Yg==}"), snapshot=gone)) == []
