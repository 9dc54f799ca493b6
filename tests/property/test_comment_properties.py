"""A comment, whatever the plan: inside its forge's limit, every loss and every reason in it, whole fences and rows, counts that add up."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.comments import Shape, drawn_plan, rows_as_written, seen

from nodusctl.plan.plan import Plan
from nodusctl.render.comment import Comment, plan_comment
from nodusctl.render.comment_apply import Applying
from nodusctl.render.comment_forms import LIMITS, SMALLEST_LIMIT, Forge, Form, mark_of
from nodusctl.render.comment_losses import losses_of
from nodusctl.render.comment_running import MOST_RUNNING
from nodusctl.render.comment_verdict import counts_text
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text
from nodusctl.render.style import PLAIN

SHAPES = st.builds(
    Shape,
    count=st.integers(1, 700),
    destroyed=st.sampled_from((0.0, 0.01, 0.5, 1.0)),
    blocked=st.sampled_from((0.0, 0.01, 0.5, 1.0)),
    name_length=st.integers(4, 63),
    seed=st.integers(0, 2**32),
    fields=st.sampled_from((0, 1, 3, 40)),
)
FORGES = st.sampled_from(tuple(Forge))
MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def comment_of(plan: Plan, forge: Forge, limit: int | None = None) -> Comment:
    form = Form(forge=forge, limit=limit or LIMITS[forge], mark=mark_of("lab", "envs/prod"))
    return plan_comment(plan, form, Applying(file="plan.nodusplan"))


@MANY
@given(shape=SHAPES, forge=FORGES)
def test_any_plan_fits_its_forge_and_is_whole_markdown(shape: Shape, forge: Forge) -> None:
    made = comment_of(drawn_plan(shape), forge)
    assert len(made.body) <= made.size < LIMITS[forge]
    read = seen(made.body)
    assert not re.search(r"[@#<>\x1b\u202e]|https?:", read.prose.replace("->", ""))


@MANY
@given(shape=SHAPES, forge=FORGES)
def test_what_runs_on_is_named_or_counted_to_the_last(shape: Shape, forge: Forge) -> None:
    plan = drawn_plan(shape)
    body = comment_of(plan, forge).body
    named = len(re.findall(r"^workspace/up-\d+-", body, re.MULTILINE))
    missing = re.search(r"^(\d+) more run on unchanged\.$", body, re.MULTILINE)
    assert named <= MOST_RUNNING
    if named:
        assert named + int(missing[1] if missing else "0") == len(plan.running_on)


@MANY
@given(shape=SHAPES, forge=FORGES)
def test_every_loss_and_every_reason_is_named(shape: Shape, forge: Forge) -> None:
    plan = drawn_plan(shape)
    code = seen(comment_of(plan, forge).body).code
    named = {word for line in code.splitlines() for word in re.split(r"[ ,]+", line)}
    for address in [*(loss.address for loss in losses_of(plan)), *(reason.address for reason in plan.reasons if reason.address)]:
        assert str(address) in named or address.name in named or shortened_to(address.name, named), address
    for reason in plan.reasons:
        assert reason.code in code


def shortened_to(name: str, named: set[str]) -> bool:
    """True if a word of ``named`` is ``name`` with its middle left out; names are unique in their first four letters."""
    return any(word.startswith(name[:4]) and "…" in word and len(word) < len(name) for word in named)


@MANY
@given(shape=SHAPES, forge=FORGES)
def test_what_is_shown_and_what_is_left_out_add_up(shape: Shape, forge: Forge) -> None:
    plan = drawn_plan(shape)
    made = comment_of(plan, forge)
    said = re.search(r"\*\*(\d+) changes left out\*\*", made.body)
    assert (int(said[1]) if said else 0) == made.left_out
    total = len(rows_as_written(made.body))
    assert total == 0 or any("**Total**" in row for row in rows_as_written(made.body))
    if made.left_out == 0 and not re.search("[^`]…", made.body):
        assert all(str(action.address) in made.body or action.address.name in made.body for action in plan.actions)


@MANY
@given(shape=SHAPES)
def test_text_json_and_comment_say_one_value(shape: Shape) -> None:
    plan = drawn_plan(shape)
    body, text, document = comment_of(plan, Forge.GITLAB).body, plan_text(plan, PLAIN), plan_document(plan)
    assert document["planHash"] in body and document["planHash"] in text
    assert f"**{counts_text(plan.counts)}." in body
    for verb, words in (("create", "to create"), ("restart", "to restart"), ("delete", "to remove"), ("update", "to change")):
        said = re.search(rf"(\d+) {words}", body.split("\n\n")[2])
        assert (int(said[1]) if said else 0) == document["counts"][verb]
    assert plan.totals is not None
    for amount in (plan.totals.p50_usd, plan.totals.p90_usd, plan.totals.at_most_usd):
        assert amount.shown in body.split("\n\n")[2] and (amount.shown in text or not plan.costs)
    assert document["totals"]["atMostUSD"] == str(plan.totals.at_most_usd)
    assert (f"Blocked by {len(plan.reasons)} reason" in body) == document["isBlocked"] == (f"Blocked by {len(plan.reasons)}" in text)


@pytest.mark.parametrize("length", [4, 30, 40, 63])
@pytest.mark.parametrize("blocked", [0.0, 1.0])
def test_seven_hundred_losses_are_all_named_in_the_smallest_comment(length: int, blocked: float) -> None:
    plan = drawn_plan(Shape(count=700, destroyed=1.0, blocked=blocked, name_length=length, seed=7))
    made = comment_of(plan, Forge.BITBUCKET)
    code = seen(made.body).code
    named = {word for line in code.splitlines() for word in re.split(r"[ ,]+", line)}
    assert made.size < 32_768 and made.left_out == 0
    assert all(
        str(action.address) in named or action.address.name in named or shortened_to(action.address.name, named) for action in plan.actions
    )
    assert ("shortened in the middle" in made.body) == (length == 63 or (length == 40 and blocked > 0))


@MANY
@given(shape=SHAPES, limit=st.integers(SMALLEST_LIMIT, 20_000))
def test_a_limit_too_small_for_the_losses_says_how_many_have_no_name(shape: Shape, limit: int) -> None:
    plan = drawn_plan(shape)
    made = comment_of(plan, Forge.GITHUB, limit)
    assert made.size < limit
    seen(made.body)
    unnamed = re.search(r"\*\*(\d+) changes that end or destroy something aren't even named", made.body)
    words = set(re.split(r"[^a-z0-9…-]+", made.body))
    missing = [one for one in losses_of(plan) if one.address.name not in words and not shortened_to(one.address.name, words)]
    assert (int(unnamed[1]) if unnamed else 0) == len(missing)
