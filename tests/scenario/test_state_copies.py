"""The state as a whole, on the command line: pulled, pushed, kept, brought back; and what is refused on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import LAB, NOW, SIMULATED, STATE_KEY, CommandLine
from support.open_states import kept

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import foreign_holder


@pytest.fixture
def applied(cli: CommandLine) -> CommandLine:
    """A Workspace that runs, and ``first.json``, pulled then."""
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert cli("state", "pull", "-o", "first.json").code is ExitCode.DONE
    return cli


def said(cli: CommandLine, *words: str) -> dict[str, object]:
    ran = cli(*words, "--json")
    assert ran.code is ExitCode.DONE, ran.out
    return next(line for line in map(json.loads, ran.out.splitlines()) if line["type"] == "result")


def codes(cli: CommandLine, *words: str) -> tuple[ExitCode, str]:
    """How a command that is refused ends, and with which code."""
    ran = cli(*words, "--json")
    return ran.code, next(json.loads(line)["code"] for line in ran.out.splitlines() if '"severity": "error"' in line)


def phase(cli: CommandLine) -> str:
    return cli("get", "ws/lab", "-o", "jsonpath={.status.phase}").out.strip()


def seen(cli: CommandLine, **changes: object) -> State:
    key = KeyMaterial(text=STATE_KEY)
    url, me = "sqlite:///.nodus/state.db", "nodusctl test"
    return kept(open_state(url, root=cli.folder, key=key, wall=SystemWall(), holder_command=me, **changes))  # type: ignore[arg-type]


class TestPull:
    def test_stdout_takes_the_document_alone(self, applied: CommandLine) -> None:
        ran = applied("state", "pull")
        document = json.loads(ran.out)
        assert (ran.err, document["serial"], document["project"]) == ("", 1, "lab")
        assert document["lineage"] == said(applied, "state", "show")["lineage"]

    def test_a_file_is_private_and_the_state_is_left_alone(self, applied: CommandLine) -> None:
        before = (applied.folder / ".nodus/state.db").read_bytes()
        assert said(applied, "state", "pull", "-o", "again.json")["serial"] == 1
        assert (applied.folder / "again.json").stat().st_mode & 0o777 == 0o600
        assert (applied.folder / ".nodus/state.db").read_bytes() == before

    def test_there_must_be_a_state_and_a_file_for_json(self, cli: CommandLine) -> None:
        assert codes(cli, "state", "pull", "-o", "x.json") == (ExitCode.ERROR, "NotFound")
        assert codes(cli, "state", "backup") == (ExitCode.ERROR, "NotFound")
        assert codes(cli, "state", "pull") == (ExitCode.USAGE, "Usage")
        assert not (cli.folder / ".nodus/state.db").exists()


class TestPush:
    def test_what_was_pulled_a_moment_ago_may_be_pushed(self, applied: CommandLine) -> None:
        done = said(applied, "state", "push", "first.json")
        assert (done["serial"], done["formerSerial"]) == (1, 1)
        assert Path(str(done["backup"])).is_file()
        assert "No changes" in applied("plan").out

    def test_a_file_that_lacks_what_is_here_is_refused(self, applied: CommandLine) -> None:
        """Desired, done or paid since: an older serial, or a journal that went on at the same one."""
        applied("sim", "advance", "1h30m", "--tick", "10m")
        assert said(applied, "state", "show")["serial"] == 1
        assert codes(applied, "state", "push", "first.json") == (ExitCode.REFUSED, "StateBehind")
        applied("stop", "lab")
        ran = applied("state", "push", "first.json")
        assert (ran.code, "The file is at serial 1, the state at 2." in ran.err) == (ExitCode.REFUSED, True)
        assert phase(applied) == "Stopped"

    def test_force_keeps_what_is_here_and_leaves_no_old_plan_valid(self, applied: CommandLine) -> None:
        applied("stop", "lab")
        assert applied("plan", "-o", "made-at-2.nodusplan").code is ExitCode.DONE
        done = said(applied, "state", "push", "first.json", "--force")
        assert (done["serial"], done["formerSerial"]) == (3, 2)
        assert phase(applied) == "Running"
        assert applied("apply", "made-at-2.nodusplan").code is ExitCode.REFUSED
        assert said(applied, "state", "restore", str(Path(str(done["backup"])).name), "--yes")["serial"] == 4
        assert phase(applied) == "Stopped"

    def test_another_state_is_refused(self, applied: CommandLine, tmp_path: Path) -> None:
        """Its machines bear another mark. With force it takes the place of what is here, which is kept."""
        other = CommandLine(tmp_path / "other")
        other.folder.mkdir()
        other.write("nodusctl.yaml", SIMULATED)
        other.write("ws.yaml", LAB)
        other("sim", "init", "--now", NOW)
        other("apply", "--yes")
        assert codes(other, "state", "push", str(applied.folder / "first.json")) == (ExitCode.REFUSED, "ForeignState")
        theirs = said(other, "state", "show")["lineage"]
        done = said(other, "state", "push", str(applied.folder / "first.json"), "--force")
        assert done["lineage"] == said(applied, "state", "show")["lineage"] != theirs
        assert json.loads(Path(str(done["backup"])).read_text())["lineage"] == theirs

    def test_another_projects_state_is_never_taken(self, applied: CommandLine) -> None:
        applied.write("nodusctl.yaml", SIMULATED.replace("project: lab", "project: other"))
        for force in ((), ("--force",)):
            assert codes(applied, "state", "push", "first.json", *force) == (ExitCode.REFUSED, "ForeignState")
        assert codes(applied, "state", "restore", "first.json", "--yes") == (ExitCode.REFUSED, "ForeignState")

    def test_nothing_is_replaced_under_somebodys_hands(self, applied: CommandLine) -> None:
        """A claim that may be alive stops a push and a restore, and so does the plan lock; both name who it is."""
        with seen(applied, holder=foreign_holder()) as bob:
            uid = next(one.record.uid for one in bob.journal.snapshot())
            claim = bob.claims.claim(uid, "Release", timedelta(minutes=10))
            assert claim is not None
            for words in (("push", "first.json", "--force"), ("restore", "first.json", "--yes")):
                ran = applied("state", *words)
                assert (ran.code, "bob@elsewhere.example pid 1 (nodusctl apply) at Release" in ran.err) == (ExitCode.LOCKED, True)
            bob.claims.drop(claim)
            bob.claims.take_plan_lock("nodusctl apply", timedelta(0))
            ran = replace(applied, environment={"NODUSCTL_LOCK_TIMEOUT": "0s"})("state", "push", "first.json")
            assert (ran.code, "bob@elsewhere.example" in ran.err) == (ExitCode.LOCKED, True)

    def test_a_file_that_is_no_state_is_told(self, applied: CommandLine) -> None:
        assert codes(applied, "state", "push", "ws.yaml") == (ExitCode.ERROR, "StateUnreadable")
        assert codes(applied, "state", "push", "nowhere.json") == (ExitCode.ERROR, "StateUnreadable")

    def test_a_state_is_moved_to_another_place(self, applied: CommandLine) -> None:
        """Pulled here, pushed there, and gone on with, as if nothing had happened: with its serial, money and secrets."""
        receipts = applied("receipts").out
        applied.write("nodusctl.yaml", f"{SIMULATED}state: sqlite:///elsewhere/state.db\n")
        assert said(applied, "state", "push", "first.json") == {
            "type": "result",
            "lineage": json.loads((applied.folder / "first.json").read_text())["lineage"],
            "serial": 1,
            "formerSerial": None,
            "backup": None,
        }
        assert "No changes" in applied("plan").out
        assert applied("receipts").out == receipts
        assert applied("stop", "lab").code is ExitCode.DONE


class TestRestore:
    def test_going_back_is_asked_about_and_told(self, applied: CommandLine) -> None:
        """What would be in the backup alone is counted; no is no, and without a terminal it needs --yes."""
        applied("stop", "lab")
        assert codes(applied, "state", "restore", "first.json") == (ExitCode.USAGE, "Usage")
        ran = applied("state", "restore", "first.json", stdin="n\n", on_terminal=True)
        assert (ran.code, phase(applied)) == (ExitCode.ERROR, "Stopped")
        assert "The state is at serial 2; first.json was at 1." in ran.err
        ran = applied("state", "restore", "first.json", stdin="y\n", on_terminal=True)
        assert (ran.code, phase(applied)) == (ExitCode.DONE, "Running")

    def test_the_serial_rises_past_everything_there_was(self, applied: CommandLine) -> None:
        """So a plan that was reviewed in between is stale, and one that was applied is not applied again."""
        applied("stop", "lab")
        assert applied("plan", "-o", "later.nodusplan").code is ExitCode.DONE
        assert said(applied, "state", "restore", "first.json", "--yes")["serial"] == 3
        assert applied("apply", "later.nodusplan").code is ExitCode.REFUSED
        history = said(applied, "state", "history")["operations"]
        assert isinstance(history, list)
        assert [(one["serial"], one["command"].partition(" --")[0]) for one in history] == [
            (3, "nodusctl state restore first.json"),
            (1, "nodusctl apply"),
        ]

    def test_machines_made_since_are_orphans_and_those_that_ended_are_drift(self, applied: CommandLine) -> None:
        applied.write("more.yaml", LAB.replace("lab-home", "more-home").replace("name: lab", "name: more"))
        assert applied("apply", "--yes").code is ExitCode.DONE
        assert applied("stop", "lab").code is ExitCode.DONE
        assert said(applied, "state", "restore", "first.json", "--yes")["serial"] == 4
        applied("sim", "advance", "20m")
        assert "workspace/more" in applied("orphans").out
        assert applied("drift").code is ExitCode.DRIFT

    def test_a_lost_state_comes_back_past_every_plan_made_for_it(self, applied: CommandLine) -> None:
        """Nobody knows how far it had come, so the serial leaps."""
        kept = said(applied, "state", "backup")
        applied("stop", "lab")
        assert applied("plan", "-o", "made-at-2.nodusplan").code is ExitCode.DONE
        for path in (applied.folder / ".nodus").glob("state.db*"):
            path.unlink()
        done = said(applied, "state", "restore", str(kept["name"]), "--yes")
        assert (done["serial"], done["backup"]) == (1000, None)
        assert applied("apply", "made-at-2.nodusplan").code is ExitCode.REFUSED

    def test_what_is_kept_is_listed_and_a_misspelt_name_is_told(self, applied: CommandLine) -> None:
        name = str(said(applied, "state", "backup")["name"])
        found = said(applied, "state", "backup", "--list")["backups"]
        assert isinstance(found, list)
        assert [(one["name"], one["why"], one["serial"]) for one in found] == [(name, "by-hand", 1)]
        assert name in applied("state", "backup", "--list").out
        ran = applied("state", "restore", name.replace("serial-1", "serial-7"), "--yes")
        assert (ran.code, f"Did you mean {name}?" in " ".join(ran.err.split())) == (ExitCode.ERROR, True)
        assert said(applied, "state", "restore", name.removesuffix(".json"), "--yes")["serial"] == 2
