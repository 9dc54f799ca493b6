"""One state on a PostgreSQL server, and several people, a CI job and cron at it at the same time. Real server, real processes."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from support.checkouts import Checkout, checkouts, workspace
from support.commands import STATE_KEY
from support.open_states import kept
from support.postgres import Server, wait_until

from nodusctl.base.clock import SystemWall
from nodusctl.ledger.checks import unsound
from nodusctl.ports.claims import Holder
from nodusctl.state.status import Phase
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import foreign_holder

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.new_state()


@pytest.fixture
def pair(tmp_path: Path, url: str) -> tuple[Checkout, Checkout]:
    """Ada's and Ben's checkout, each with a Workspace of its own; nothing is applied yet."""
    ada, ben = checkouts(tmp_path, url, "ada", "ben")
    ada.write("a.yaml", workspace("a"))
    ben.write("b.yaml", workspace("b"))
    return ada, ben


def seen(url: str, root: Path, holder: Holder | None = None) -> State:
    key = KeyMaterial(text=STATE_KEY)
    return kept(open_state(url, root=root, key=key, wall=SystemWall(), holder_command="nodusctl apply", holder=holder))


def phases(url: str, root: Path) -> dict[str, Phase]:
    with seen(url, root) as state:
        return {one.record.address.name: one.status.phase for one in state.journal.snapshot()}


def machines(checkout: Checkout) -> int:
    """How many the cloud has; the first line is the head of the table."""
    return len(checkout.good("sim", "machines").out.splitlines()) - 1


def check_quiet(url: str, root: Path) -> None:
    """Nobody is at work, and the books are right."""
    with seen(url, root) as state:
        assert (state.claims.plan_lock(), state.claims.claimed(), state.journal.open_intents()) == (None, (), ())
        assert unsound(state.journal.entries(), [one.uid for one in state.journal.attempts() if not one.is_open]) == ()
        with state.journal.books() as books:
            assert books.rows_gone() == {}


def test_two_checkouts_apply_different_objects_at_once(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    """Both land, whoever comes first: the other's plan is made again, and as it is the same it goes on. cron ticks meanwhile."""
    ada, ben = pair
    begun = [
        ada.begin("apply", "--yes", "a.yaml"),
        ben.begin("apply", "--yes", "b.yaml"),
        *(checkout.begin("tick", "--quiet") for checkout in pair for _ in range(2)),
    ]
    ended = [one.end() for one in begun]
    assert [one.code for one in ended] == [0] * len(ended), "\n".join(one.err for one in ended)
    assert phases(url, tmp_path) == {"a": Phase.RUNNING, "b": Phase.RUNNING}
    with seen(url, tmp_path) as state:
        assert [attempt.name for attempt in state.journal.attempts()] in (["a-1", "b-1"], ["b-1", "a-1"])
    assert machines(ada) == 2
    check_quiet(url, tmp_path)
    assert ben("plan", "--detailed-exitcode", "b.yaml").code == 0, "Ben's plan is empty again"


def test_two_checkouts_apply_the_same_object_at_once(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    """It is made once. Whoever comes second waits and finds nothing to do, or is refused with the first one named."""
    ada, ben = pair
    ben.write("b.yaml", workspace("a"))
    begun = [ada.begin("apply", "--yes"), ben.begin("apply", "--yes")]
    ended = [one.end() for one in begun]
    assert 0 in (one.code for one in ended)
    for one in ended:
        assert one.code in (0, 11), one.err
        if one.code == 11:
            assert "by: nodusctl apply --yes by" in " ".join(one.err.split())
    assert phases(url, tmp_path) == {"a": Phase.RUNNING}
    with seen(url, tmp_path) as state:
        assert len(state.journal.attempts()) == 1
    check_quiet(url, tmp_path)


def test_who_works_on_an_object_is_named_to_who_waits_for_it(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    """Bob's process, on another computer, doesn't end: its claim isn't broken, and in time the apply says for whom it waited."""
    ada, _ = pair
    ada.good("apply", "--yes", "a.yaml")
    with seen(url, tmp_path, foreign_holder()) as bob:
        uid = next(one.record.uid for one in bob.journal.snapshot())
        assert bob.claims.claim(uid, "Release", timedelta(minutes=10)) is not None
        waiting = ada("stop", "workspace/a", "--timeout", "3s")
        assert waiting.code == 14
        assert "bob@elsewhere.example pid 1 (nodusctl apply) at Release" in waiting.err
        shown = ada.good("state", "show", "--json").lines[1]
        assert [(one["holder"], one["liveness"], one["silentSeconds"] < 600) for one in shown["claims"]] == [
            ("bob@elsewhere.example pid 1", "unknown", True)
        ]
        assert [str(row.event) for row in bob.journal.events() if "ClaimBroken" in str(row.event)] == []


def test_a_lock_of_another_computer_is_told_and_left(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    ada, ben = pair
    ada.good("apply", "--yes", "a.yaml")
    with seen(url, tmp_path, foreign_holder()) as bob:
        lock_id = bob.claims.take_plan_lock("nodusctl apply", timedelta(0))
    refused = ben("apply", "--yes", "--lock-timeout", "0s", "b.yaml")
    assert refused.code == 13
    for fact in (lock_id, "bob@elsewhere.example, pid 1 (unknown)", "last heartbeat", f"nodusctl unlock {lock_id}"):
        assert fact in refused.err
    ben.good("unlock", lock_id)
    ben.good("apply", "--yes", "b.yaml")
    assert phases(url, tmp_path) == {"a": Phase.RUNNING, "b": Phase.RUNNING}


def test_a_reviewed_plan_of_one_checkout_is_stale_after_the_others_apply(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    ada, ben = pair
    ada.good("apply", "--yes", "a.yaml")
    ben.good("plan", "-o", "b.nodusplan", "b.yaml")
    ada.write("a.yaml", workspace("a", maxCostUSD='"9.00"'))
    ada.good("apply", "--yes", "a.yaml")
    refused = ben("apply", "b.nodusplan")
    assert refused.code == 11
    assert "moved by: nodusctl apply --yes a.yaml by" in " ".join(refused.err.split())
    assert phases(url, tmp_path) == {"a": Phase.RUNNING}


def test_ticks_of_several_computers_make_one_start(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path) -> None:
    """cron on two computers, every tick at the same time: whoever claims the object starts it."""
    ada = pair[0]
    windows = 'annotations: {nodus.dev/windows: "daily 12:00-17:00 UTC"}'
    ada.write("a.yaml", workspace("a").replace("{name: a}", f"{{name: a, {windows}}}"))
    ada.good("apply", "--yes", "a.yaml")
    ada.good("sim", "advance", "4h50m")
    ended = [one.end() for one in [checkout.begin("tick", "--quiet") for checkout in pair for _ in range(3)]]
    assert [one.code for one in ended] == [0] * 6, "\n".join(one.err for one in ended)
    with seen(url, tmp_path) as state:
        assert len(state.journal.attempts()) == 1
        assert len(state.passes.latest(100)) == 6
    assert machines(ada) == 1


def test_an_apply_survives_a_server_that_starts_again(pair: tuple[Checkout, Checkout], url: str, tmp_path: Path, postgres: Server) -> None:
    """Up to five times in the middle of it, as after a power cut: it goes on by itself, nothing is lost, nothing is done twice."""
    ada, _ = pair
    for number in range(15):
        ada.write(f"w{number}.yaml", workspace(f"w{number}"))
    with seen(url, tmp_path) as state:
        running = ada.begin("apply", "--yes", "--parallelism", "2")
        wait_until(state.journal.exists)
    restarts = 0
    while running.process.poll() is None and restarts < 5:
        postgres.restart("immediate")
        restarts += 1
        time.sleep(0.2)
    assert restarts > 0
    ended = running.end()
    assert ended.code == 0, ended.out + ended.err
    assert set(phases(url, tmp_path).values()) == {Phase.RUNNING}
    assert machines(ada) == 16
    check_quiet(url, tmp_path)


def test_a_state_moves_from_a_file_to_the_server(tmp_path: Path, url: str) -> None:
    """With what runs, what it has cost, its Secrets and its members; then a colleague goes on with it."""
    ada, ben = checkouts(tmp_path, "sqlite:///.nodus/state.db", "ada", "ben", key="")
    for one in (ada, ben):
        one.write("lab.yaml", workspace("a", secrets="[wandb]"))
        one.write("secret.yaml", _SECRET)
    ada.good("apply", "--yes")
    ada.good("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
    ada.good("state", "keys", "add", "ben", ben.good("state", "keys", "new").out.strip())
    ada.good("sim", "advance", "1h30m", "--tick", "15m")
    receipts = ada.good("receipts").out
    ada.good("state", "pull", "-o", "lab.json")
    for one in (ada, ben):
        one.write("nodusctl.yaml", (ada.folder / "nodusctl.yaml").read_text().replace("sqlite:///.nodus/state.db", url))
    ada.good("state", "push", "lab.json")
    assert ada.good("receipts").out == receipts
    assert "No changes" in ada.good("plan").out
    ben.good("stop", "workspace/a")
    ben.good("receipts", "--verify")
    check_quiet(url, tmp_path)


class TestTeam:
    @pytest.fixture
    def team(self, tmp_path: Path, url: str) -> tuple[Checkout, Checkout]:
        """The same two, each with keys of their own; Ada has applied a Secret and a Workspace."""
        ada, ben = checkouts(tmp_path, url, "ada", "ben", key="")
        for one in (ada, ben):
            one.write("lab.yaml", workspace("a", secrets="[wandb]"))
            one.write("secret.yaml", _SECRET)
        ada.good("apply", "--yes")
        return ada, ben

    def test_a_colleague_joins_works_and_leaves(self, team: tuple[Checkout, Checkout]) -> None:
        """What each command says is what the next person needs."""
        ada, ben = team
        ada.good("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
        public = ben.good("state", "keys", "new").out.strip()
        refused = ben("stop", "workspace/a")
        assert refused.code != 0
        assert f"nodusctl state keys add NAME {public}" in refused.err
        assert "Stopping" not in ada.good("get", "ws").out, "nothing was begun"
        ada.good("state", "keys", "add", "ben", public)
        ben.good("apply", "--yes", "--restart", "workspace/a")
        assert "No changes" in ben.good("plan").out, "equal bytes have equal fingerprints for both"
        ada.good("state", "keys", "remove", "ben", "--rotate")
        assert ben("stop", "workspace/a").code != 0
        assert "No changes" in ada.good("plan").out
        ada.good("stop", "workspace/a")

    def test_a_lost_key_is_made_good_with_the_recovery_key(self, team: tuple[Checkout, Checkout]) -> None:
        ada, ben = team
        ada.good("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
        recovery = (ada.folder / "recovery.key").read_text().strip()
        public = ben.good("state", "keys", "new").out.strip()
        finder = Checkout(ben.folder, {**ben.environment, "NODUSCTL_STATE_KEY": recovery})
        finder.good("state", "keys", "add", "ben", public)
        ben.good("stop", "workspace/a")
        names = [one["name"] for one in ben.good("state", "keys", "list", "--json").lines[1]["members"]]
        assert names == ["ada", "ben", "recovery"]


_SECRET = """apiVersion: nodus.dev/v1
kind: Secret
metadata: {name: wandb}
spec: {stringData: {WANDB_API_KEY: "0123456789abcdef-of-wandb"}}
"""


def test_a_password_in_the_url_is_shown_nowhere(tmp_path: Path, postgres: Server) -> None:
    """In settings, facts, plans, errors of a server that is there and of one that isn't, and in no file a command writes."""
    url = postgres.new_state().replace("nodus@", "nodus:hunter2-of-the-server@")
    (ada,) = checkouts(tmp_path, url, "ada")
    ada.write("a.yaml", workspace("a"))
    said = [
        ada(*words)
        for words in (
            ("plan", "-o", "a.nodusplan"),
            ("show", "a.nodusplan", "--json"),
            ("apply", "a.nodusplan", "--json"),
            ("apply", "a.nodusplan"),
            ("state", "show"),
            ("state", "show", "--json"),
            ("config", "view", "--origin"),
            ("config", "view", "--json"),
            ("doctor", "--json"),
            ("explain", "project.state"),
        )
    ]
    ada.write("nodusctl.yaml", (ada.folder / "nodusctl.yaml").read_text().replace("/postgres?", "/nowhere?"))
    said += [ada("plan"), ada("doctor"), ada("tick")]
    ada.write("nodusctl.yaml", "state: 'postgresql://nodus:hunter2-of-the-server@[::1/lab'\n")
    said += [ada("plan"), ada("state", "show", "--json"), ada("state", "show")]
    assert [one for one in said if "hunter2" in one.out + one.err] == []
    assert "***" in said[4].out
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "nodusctl.yaml"]
    assert [path for path in written if b"hunter2" in path.read_bytes()] == []
