"""The pull-request comment: its verdict, its order, what is never folded, and what user text can't do in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.comments import NASTY, seen
from support.planning import HOME, LAB, NOW, WS, applied, codes, document, plan, running, with_disk, with_status, workspace

from nodusctl.base.ids import Address
from nodusctl.base.redaction import REDACTOR
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.render.comment import Comment, plan_comment, plan_markdown
from nodusctl.render.comment_apply import Applying
from nodusctl.render.comment_forms import LIMITS, Forge, Form, mark_of
from nodusctl.render.comment_losses import fitted_names
from nodusctl.render.comment_text import cell, size_of, span
from nodusctl.state.status import Phase

A = Address("workspace", "a")
GPU8 = "ephemeral: true, resources: {gpu: {type: [H100], count: 8, minMemory: 100Gi}}"


def comment(made: Plan, forge: Forge = Forge.GITHUB, limit: int | None = None) -> Comment:
    return plan_comment(made, Form(forge=forge, limit=limit or LIMITS[forge], mark=mark_of("lab", "")), Applying(file="p.nodusplan"))


def unfolded(body: str) -> str:
    """What is read without opening anything."""
    return re.sub(r"<details>.*?</details>", "", body, flags=re.DOTALL)


def class_of_600() -> Plan:
    """600 Workspaces: 595 new, 2 of them that can't be placed, 3 that go with their files."""
    state = applied(*(workspace(f"gone-{number}") for number in range(3)))
    state = running(state, *(Address("workspace", f"gone-{number}") for number in range(3)))
    new = [workspace(f"student-{number:03}", 'ephemeral: true, idleTimeout: 1h, maxCostUSD: "5.00"') for number in range(595)]
    return plan(*new, workspace("stuck-1", GPU8), workspace("stuck-2", GPU8), snapshot=state)


def test_six_hundred_workspaces_with_three_destroyed_and_two_blocked_fit_a_github_comment() -> None:
    made = class_of_600()
    assert len(made.actions) == 600 and codes(made) == ["CapacityUnavailable"] * 2 and made.counts[Verb.DELETE] == 3
    shown = comment(made)
    seen(shown.body)
    assert len(shown.body) <= 65_536
    open_part = unfolded(shown.body)
    for name in ("gone-0", "gone-1", "gone-2"):
        assert f"- `-` `workspace/{name}` **destroys data**" in open_part
    for name in ("stuck-1", "stuck-2"):
        assert f"- **`CapacityUnavailable`** `workspace/{name}`" in open_part
    said = re.search(r"\*\*(\d+) changes left out\*\*", open_part)
    named = set(re.findall(r"workspace/[a-z]+-\d+", shown.body))
    assert said is not None and int(said[1]) == shown.left_out == 600 - len(named) > 0
    assert sum(line.strip().startswith("```") for line in shown.body.splitlines()) % 2 == 0


def test_the_verdict_says_counts_costs_and_blocks_in_words() -> None:
    state = running(with_disk(applied(WS, workspace("b")), saved_at=NOW), LAB)
    made = plan(workspace("b"), workspace("new", 'ephemeral: true, maxCostUSD: "5.00"'), workspace("stuck", GPU8), snapshot=state)
    body = comment(made).body
    assert re.search(
        r"^\*\*2 to create, 1 kept, 1 to remove\. "
        r"Costs at least \$\d+\.\d+ to \$10\.00 \(likely to unlucky, p50 to p90\), at most: at least \$10\.00, "
        r"as a price is unknown\. Blocked by 1 reason\.\*\*$",
        body,
        re.MULTILINE,
    ), body[:500]
    assert "Costs $9.998333 to $10.00 (likely to unlucky, p50 to p90), at most $10.00. Not blocked." in comment(plan(WS)).body
    assert "at most: no limit" in comment(plan(workspace())).body
    assert "**No changes. Costs nothing more.**" in comment(plan(WS, snapshot=running(applied(WS), LAB))).body
    assert "unknown: it was planned without asking for prices" in comment(plan(WS, is_offline=True, markets=())).body


def test_without_losses_and_blocks_it_says_so() -> None:
    body = comment(plan(WS)).body
    assert "Nothing is destroyed, ended or restarted." in body and "Nothing blocks it." in body


def test_the_gravest_loss_comes_first_with_what_is_lost() -> None:
    scratch = WS.replace("size: 50Gi", "size: 50Gi, deletionPolicy: Delete")
    state = running(with_disk(applied(scratch, workspace("b")), saved_at=NOW), LAB)
    body = unfolded(comment(plan(workspace("b"), snapshot=state)).body)
    lost, ended = body.index("`volume/lab-home` **destroys data**"), body.index("`workspace/lab` **ends the session**")
    assert lost < ended
    assert "`everything on it is lost: 50Gi of disk and 1 saved revision, the last just now`" in body
    assert "`its home volume/lab-home is destroyed too`" in body
    assert "`because it says deletionPolicy: Delete; to keep it, set Retain and apply before removing it`" in body


def test_a_restart_says_what_becomes_of_the_files() -> None:
    state = running(with_disk(applied(WS), saved_at=NOW), LAB)
    made = plan(WS, snapshot=state, allow=AllowFlags(max_deletes=3, restarts=(LAB,)))
    body = comment(made).body
    assert (
        "`workspace/lab` **restarts the session**\n  - `its home is saved before the restart (last saved just now); running programs end`"
        in body
    )
    assert f"nodusctl apply --restart workspace/lab --plan-hash {plan_hash(made)} --yes" in body


def test_carrying_out_the_rest_names_what_it_destroys_and_restarts_all_the_same() -> None:
    scratch = workspace("b").replace("size: 50Gi", "size: 50Gi, deletionPolicy: Delete")
    state = running(with_disk(applied(WS, scratch), saved_at=NOW), LAB)
    body = comment(plan(WS, workspace("stuck", GPU8), snapshot=state, allow=AllowFlags(max_deletes=3, restarts=(LAB,)))).body
    done = re.search(r"without `workspace/stuck`, which is blocked\.\n\*\*This (.*)\.\*\*", body)
    assert done is not None and "restarts `workspace/lab`" in done[1] and "`workspace/b`" in done[1] and "stuck" not in done[1]


def test_the_verdict_says_what_of_it_is_blocked_and_what_storage_stays() -> None:
    busy = document("Workspace", "two", 'volume: lab-home, maxCostUSD: "4.00", image: nodus/workspace-cpu')
    state = running(with_disk(applied(WS), saved_at=NOW), LAB)
    made = plan(WS, busy, snapshot=state)
    assert codes(made) == ["VolumeBusy"]
    body = comment(made).body
    assert "of which $4.00 is blocked and $5.00 a month is storage that doesn't change. Blocked by 1 reason." in body, body[:400]
    assert "Give workspace/two a Volume of its own, or stop workspace/lab first." in body
    assert "(a rate, not a bill: caps and windows stop it at the amounts below)" in body
    assert "In both: $0.20/h of objects whose cost doesn't change." in body


def test_what_is_left_out_says_what_it_would_cost() -> None:
    spec = 'code: {module: m, qualname: q}, python: "3.11", resources: {gpu: L4}, scaling: {minWorkers: 2}, maxCostUSD: "500.00"'
    made = plan(document("Function", "embed", spec))
    assert "Costs nothing more. What apply leaves out would cost $500.00, at most $500.00." in comment(made).body


def test_a_new_object_shows_its_labels_and_annotations() -> None:
    made = plan(workspace(metadata="labels: {team: vision}, annotations: {a/b: why}"))
    body = comment(made).body
    assert "metadata.labels[team]" in body and "metadata.annotations[a/b]" in body


def test_a_branch_that_is_only_behind_changes_nothing_and_says_why() -> None:
    made = plan(WS, snapshot=running(applied(WS), LAB))
    behind = replace(made, reasons=(BlockingReason(code="BaseMoved", address=LAB, message="m", fix="f"),))
    assert "**No changes: 1 object is left alone, because the base branch has work on it that these files haven't." in comment(behind).body


def test_what_blocks_decides_what_can_be_applied() -> None:
    stuck = comment(plan(workspace("a"), workspace("stuck", GPU8))).body
    assert "leaves them out with `--skip-blocked`" in stuck and "nodusctl apply --skip-blocked" in stuck and "--plan-hash" not in stuck
    assert "without `workspace/stuck`, which is blocked.\nNothing else is destroyed, ended or restarted by it." in stuck
    assert "ends with exit code 14:" in stuck
    poor = comment(plan(document("Budget", "team", 'limitUSD: "0.01"'), workspace("a"))).body
    assert "Apply refuses all of it" in poor and "--skip-blocked" not in poor and "nodusctl plan -o plan.nodusplan" in poor
    function = document("Function", "embed", 'code: {module: m, qualname: q}, python: "3.11", resources: {gpu: L4}')
    left_out = comment(plan(function, workspace("a"))).body
    assert "leaves these objects out, says so" in left_out and "--plan-hash" in left_out


def test_the_foot_has_hash_book_validity_and_base_commit() -> None:
    made = plan(WS)
    made = replace(made, basis=replace(made.basis, base_commit="4f2c9e1", base_ref="origin/main", book_version="2026-10-01"))
    body = comment(made).body
    assert f"planHash `{plan_hash(made)}`" in body
    assert "base commit `4f2c9e1` of `origin/main` · price book `2026-10-01` · prices count as current until 2026-10-27T06:00:00Z" in body


def test_a_plan_made_from_a_snapshot_is_applied_by_its_hash_alone() -> None:
    made = plan(WS)
    made = replace(made, basis=replace(made.basis, snapshot_at=NOW, base_ref="origin/main", base_commit="4f2c9e1"))
    body = comment(made).body
    assert "nodusctl apply p.nodusplan" not in body and f"nodusctl apply --base origin/main --plan-hash {plan_hash(made)} --yes" in body
    assert "the state as it was written down at 2026-10-26T07:00:00Z" in body


def test_next_windows_stand_in_the_open_part() -> None:
    spec = 'ephemeral: true, maxCostUSD: "5.00", schedule: {readyBy: "2026-10-27T09:00:00Z", stopAt: "2026-10-27T12:00:00Z"}'
    body = unfolded(comment(plan(workspace("class", spec))).body)
    assert "#### Next windows" in body and "| `workspace/class` |" in body


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("forge", list(Forge))
def test_user_text_stays_text_wherever_it_stands(text: str, forge: Forge) -> None:
    action = Action(
        verb=Verb.DELETE,
        address=Address("workspace", "lab"),
        change_class=ChangeClass.DESTROYS,
        notes=(text,),
        source=text,
        line=3,
        changes=(FieldChange(path=f"spec.env[{text}]", before=text, after=text, change_class=ChangeClass.DESTROYS, note=text),),
    )
    reason = BlockingReason(code="Protected", address=action.address, message=text, fix=f"{text}\n  {text}", field=text)
    made = replace(plan(WS), actions=(action,), reasons=(reason,), hints=(text,), created_by=text)
    made = replace(made, basis=replace(made.basis, project=text or "lab", base_commit=text))
    read = seen(comment(made, forge).body)
    for sign in ("@", "#1", "<b", "<img", "http", "\x1b", "\u202e", "|"):
        assert sign not in read.prose


def test_a_code_span_outlasts_its_backticks_and_a_cell_its_bars() -> None:
    assert span("a`b") == "``a`b``" and span("`x`") == "`` `x` ``" and span("") == "" and span(" ") == ""
    assert cell("a|b") == "`a\\|b`" and cell("a\\|b") == "`a\\\\\\|b`"
    assert span("a\nb") == "`a b`" and span("\u202ex") == "`\\u202ex`"


def test_a_secret_is_cleaned_before_it_is_measured() -> None:
    REDACTOR.remember("hunter2")
    made = plan(workspace("b", 'ephemeral: true, env: [{name: A, value: "is hunter2"}]'))
    shown = comment(made)
    assert "hunter2" not in shown.body and "[redacted]" in shown.body and shown.size == size_of(shown.body)
    many = plan(*(workspace(f"w{n:03}", 'ephemeral: true, env: [{name: A, value: "is hunter2 hunter2 hunter2"}]') for n in range(400)))
    assert size_of(comment(many, Forge.BITBUCKET).body) < 32_768


def test_one_change_too_large_for_a_comment_shows_its_first_fields_and_counts_the_rest() -> None:
    env = ", ".join(f"{{name: V{number}, value: '{'x' * 200}'}}" for number in range(256))
    body = comment(plan(workspace("huge", f"ephemeral: true, env: [{env}]"), workspace("small"))).body
    seen(body)
    assert re.search(r"… and \d+ (lines more of this change|characters more)", body) and "workspace/small" in body


def test_the_mark_is_hidden_as_each_forge_hides_it_and_differs_by_project_folder_and_tag() -> None:
    assert comment(plan(WS)).body.startswith(f"<!-- {mark_of('lab', '')} -->\n")
    assert comment(plan(WS), Forge.BITBUCKET).body.startswith(f"[//]: # ({mark_of('lab', '')})\n")
    marks = {
        mark_of("lab", ""),
        mark_of("lab", "envs/prod"),
        mark_of("lab2", ""),
        mark_of("lab", "", "nightly"),
        mark_of("lab", "envs", "prod"),
    }
    assert len(marks) == 5 and all(re.fullmatch(r"nodusctl-plan [a-z0-9-]+ [0-9a-f]{12}", mark) for mark in marks)
    assert "-->" not in mark_of("x --> y", "")


def test_markdown_for_a_file_has_no_mark_no_end_and_everything() -> None:
    made = class_of_600()
    text = plan_markdown(made)
    assert "nodusctl-plan" not in text and "changes left out" not in text
    assert all(f"workspace/student-{number:03}" in text for number in range(595))


def test_names_are_shortened_only_as_far_as_they_must() -> None:
    addresses = [Address("volume", f"{number:02}{'abcdefghij' * 4}") for number in range(10)] + [Address("volume", "short")]
    whole = fitted_names(addresses, 10 * 44 + 7)
    assert set(whole.values()) == {address.name for address in addresses}
    tight = fitted_names(addresses, 10 * 22 + 7)
    assert tight[addresses[-1]] == "short" and {len(name) for name in list(tight.values())[:10]} == {20} and len(set(tight.values())) == 11
    alike = [Address("volume", f"{'a' * 30}{number}{'z' * 30}") for number in range(5)]
    assert len(set(fitted_names(alike, 5 * 22).values())) == 5
    assert len(fitted_names(addresses, 50)) == 3


def test_a_loss_of_a_kept_home_is_none() -> None:
    made = plan(snapshot=with_disk(running(applied(WS), LAB), saved_at=NOW))
    assert any(action.address == HOME and action.verb is Verb.KEEP for action in made.actions)
    assert "`volume/lab-home` **" not in comment(made).body


def test_what_runs_on_is_named_in_a_folded_part_with_what_it_costs() -> None:
    state = running(applied(workspace("a"), workspace("b"), workspace("c")), *(Address("workspace", name) for name in "abc"))
    made = plan(workspace("a", "ephemeral: true, idleTimeout: 2h"), workspace("b"), workspace("c"), workspace("new"), snapshot=state)
    body = comment(made).body
    assert "<details><summary>2 objects run on unchanged, $0.40/h</summary>" in body
    assert "\nworkspace/b cpu-4c-16g-us $0.20/h\nworkspace/c cpu-4c-16g-us $0.20/h\n" in body
    assert "workspace/b" not in unfolded(body) and "workspace/a" in unfolded(body)


def test_what_rests_moves_or_is_named_nowhere_else_does_not_run_on() -> None:
    state = with_status(running(applied(workspace("a"), workspace("b")), A), Address("workspace", "b"), phase=Phase.STOPPED)
    moved = plan(workspace("renamed", metadata="annotations: {nodus.dev/moved-from: a}"), workspace("b"), snapshot=state)
    assert moved.counts[Verb.MOVE] == 1 and moved.running_on == ()
    assert "run on unchanged" not in comment(moved).body


def test_names_of_what_runs_on_are_bounded_and_the_rest_is_counted() -> None:
    names = [f"w-{number:03}" for number in range(70)]
    state = running(applied(*(workspace(name) for name in names)), *(Address("workspace", name) for name in names))
    body = comment(plan(*(workspace(name) for name in names), workspace("new"), snapshot=state)).body
    assert "70 objects run on unchanged, $14.00/h" in body and "20 more run on unchanged." in body
    assert "w-049" in body and "w-050" not in body


def test_a_row_says_how_long_it_takes_to_reach_the_cap() -> None:
    """$5.00 at $0.20 an hour are 25 hours, less the minute a stop may take."""
    assert "| until the cap, about 1d |" in comment(plan(WS)).body
    window = 'ephemeral: true, maxCostUSD: "0.50", schedule: {readyBy: "2026-10-27T09:00:00Z", stopAt: "2026-10-27T12:00:00Z"}'
    assert "| window, its cap after about 2h29m |" in comment(plan(workspace("class", window))).body
    roomy = comment(plan(workspace("class", window.replace("0.50", "5.00")))).body
    assert "| window |" in roomy
