"""A reply that never came is neither a success nor a failure: what the call made is found again by its token, and made once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from support.world import HOME_YAML, LAB, World, outcome, workspace_yaml

from nodusctl.attempts.events import OutcomeUnknown
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.state.status import Phase

A, B = Address("workspace", "a"), Address("workspace", "b")
NOT_IDEMPOTENT = "manners: {createIsIdempotent: false}\n"


def test_case_15_an_open_intent_blocks_only_its_own_object_and_is_settled_by_the_next_apply(world: World) -> None:
    world.write(workspace_yaml("a", volume="", ephemeral=True), workspace_yaml("b", volume="", ephemeral=True))
    world.fault("create", "accept-then-drop", "workspace/a", times=1)
    world.fault("find", "error Unavailable", times=3)
    first = world.apply()
    assert first.exit_code is ExitCode.PARTIAL
    assert outcome(first, A).has_open_intent
    assert outcome(first, A).code == "IntentUnsettled"
    assert outcome(first, B).is_ok
    token = world.state.journal.open_intents()[0].token
    machine_b = world.machines("workspace/b")
    world = world.again()
    assert world.apply().exit_code is ExitCode.DONE
    assert world.count("create", "workspace/a") == 1
    assert [machine.token for machine in world.machines("workspace/a")] == [token]
    assert [machine.id for machine in world.machines("workspace/b")] == [machine.id for machine in machine_b]
    assert world.status(A).phase is Phase.RUNNING
    world.check_quiet()


def test_a_lost_reply_that_is_found_at_once_is_adopted_in_the_same_pass(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "accept-then-drop", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
    assert len(world.events(OutcomeUnknown)) == 1
    world.check_quiet()


def test_case_27_a_machine_seen_late_is_adopted_and_never_doubled(world: World) -> None:
    """Absence counts only after the list lag, and twice: 45 s of invisibility are well inside it."""
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "accept-then-drop", times=1)
    world.fault("create", "visible-after 45s", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
    assert len(world.machines()) == 1
    assert len(world.attempts()) == 1
    world.check_quiet()
    world.stop()
    world.check_quiet()


def test_a_request_that_never_arrived_is_sent_again_under_its_token_where_creates_are_idempotent(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    outside = world.outside(providers=_Losing(world, "launch"))
    assert world.apply(outside=outside).exit_code is ExitCode.DONE
    attempt = world.attempt()
    assert attempt.try_number == 1
    assert [machine.token for machine in world.machines()] == [attempt.token]
    assert len([call for call in world.cloud.calls("find") if call.token == attempt.token]) == 3, "at once, then twice after the lag"
    assert attempt.timings.acquired_at is not None
    assert attempt.timings.acquired_at - attempt.timings.queued_at >= timedelta(seconds=120)
    world.check_quiet()


def test_a_request_that_never_arrived_gets_another_token_where_creates_are_not_idempotent(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=NOT_IDEMPOTENT)
    world.write(HOME_YAML, workspace_yaml())
    outside = world.outside(providers=_Losing(world, "launch"))
    assert world.apply(outside=outside).exit_code is ExitCode.DONE
    attempt = world.attempt()
    assert attempt.try_number == 2
    assert [one.code for one in attempt.refusals] == ["Unavailable"]
    assert len(world.machines()) == 1
    world.check_quiet()


def test_a_disk_request_that_never_arrived_gets_another_token_where_creates_are_not_idempotent(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=NOT_IDEMPOTENT)
    world.write(HOME_YAML, workspace_yaml())
    losing = _Losing(world, "create_disk")
    assert world.apply(outside=world.outside(providers=losing)).exit_code is ExitCode.DONE
    lost, made = losing.tokens
    assert lost != made
    assert world.count("volume-create") == 1
    world.check_quiet()


def test_a_stop_does_not_send_a_lost_launch_again(world: World) -> None:
    """A stop beats a start: where the request is proved not to have arrived, no machine is made only to be ended."""
    world.write(HOME_YAML, workspace_yaml())
    outside = world.outside(providers=_Losing(world, "launch"))
    world.apply(outside=outside, timeout=timedelta(seconds=10))
    assert len(world.state.journal.open_intents()) == 1
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    assert world.count("create") == 0
    world.check_quiet()


def test_every_lost_reply_of_a_whole_life_is_settled_without_doing_anything_twice(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    for operation in ("volume-create", "create", "attach", "delete", "detach", "save", "volume-delete"):
        world.fault(operation, "accept-then-drop", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.stop().exit_code is ExitCode.DONE
    assert world.home().revision == 1
    assert world.start().exit_code is ExitCode.DONE
    assert world.delete(LAB, Address("volume", "home")).exit_code is ExitCode.DONE
    assert world.count("create") == 2
    assert world.machines() == ()
    world.check_quiet()


class _Losing:
    """A ProviderSet whose first call of one name is lost on the way: the cloud never hears of it."""

    def __init__(self, world: World, name: str) -> None:
        from nodusctl.plugins.plugins import ReadyProviders

        self.tokens: list[str] = []
        lost = self

        class Lossy(type(world.cloud)):  # type: ignore[misc]
            """The cloud behind a line that loses one request."""

        def call(self: object, request: object) -> object:
            lost.tokens.append(request.token)  # type: ignore[attr-defined]
            if len(lost.tokens) == 1:
                raise ConnectionError("the line broke before the request was sent")
            return getattr(super(Lossy, self), name)(request)

        setattr(Lossy, name, call)
        from support.world import context_of

        self._ready = ReadyProviders({"sim": Lossy.open(context_of(world.folder, "sim", world.wall), {})})

    def __getattr__(self, name: str) -> object:
        return getattr(self._ready, name)
