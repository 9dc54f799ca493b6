"""``unlock``: the right id removes a lock, any other is told whose it is."""

from __future__ import annotations

from datetime import timedelta

from support.commands import STATE_KEY, CommandLine

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.store.opening import open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import foreign_holder


def test_a_lock_is_removed_by_its_id_alone(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    key = KeyMaterial(text=STATE_KEY)
    place = "sqlite:///.nodus/state.db"
    with open_state(place, root=cli.folder, key=key, wall=SystemWall(), holder_command="test", holder=foreign_holder()) as theirs:
        lock_id = theirs.claims.take_plan_lock("nodusctl apply", timedelta(0))
    ran = cli("unlock", "another-id")
    assert (ran.code, lock_id in ran.err, "bob@elsewhere.example pid 1" in ran.err) == (ExitCode.ERROR, True, True)
    assert cli("apply", "--yes", "--restart", "workspace/lab", "--lock-timeout", "0s").code is ExitCode.LOCKED
    ran = cli("unlock", lock_id)
    assert (ran.code, ran.out) == (ExitCode.DONE, f"Lock {lock_id} is removed.\n")
    assert cli("apply", "--yes", "--restart", "workspace/lab").code is ExitCode.DONE


def test_where_there_is_no_state_there_is_no_lock(cli: CommandLine) -> None:
    assert cli("unlock", "any").code is ExitCode.ERROR
    assert not (cli.folder / ".nodus/state.db").exists()
