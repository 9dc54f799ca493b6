"""Rules of the agent on a machine: the five commands, that every push is read back, and that it judges idle and edge alone."""

from __future__ import annotations

import pytest

from nodusctl.base.canonical import digest
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import CanAnswerAgent, Provider
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Done
from nodusctl.testing.conformance_hooks import ConformanceHooks, done

READY = AgentRequest(command=AgentCommand.READY)


class AgentRules(ConformanceHooks):
    """Run where ``ask`` works; skipped elsewhere."""

    def ready(self, provider: Provider, machine: Machine) -> AgentAnswer:
        """The agent's first answer whose tools have all answered."""

        def look() -> AgentAnswer | None:
            reply = self.ask(provider, machine, READY)
            is_ready = isinstance(reply, Done) and reply.value.ready_at is not None and all(tool.has_answered for tool in reply.value.tools)
            return reply.value if isinstance(reply, Done) and is_ready else None

        return self.eventually(provider, look, f"the agent of {machine.id} is ready")

    def test_a_running_machine_becomes_ready(self, provider: Provider) -> None:
        """SSH among the tools answers, and the answer says which boot it speaks of."""
        machine = self.running(provider)
        answer = self.ready(provider, machine)
        assert answer.version
        assert answer.boot_id
        assert "SSH" in [tool.name for tool in answer.tools]
        assert done(self.ask(provider, machine, READY)).boot_id == answer.boot_id

    def test_the_edge_is_armed_before_anyone_asks(self, provider: Provider) -> None:
        """A fresh machine already counts down to the edge it was launched with."""
        machine = self.running(provider)
        self._assert_remaining(self.ready(provider, machine), self.edge_seconds)

    @pytest.mark.parametrize("seconds", [7200, 1800], ids=["longer", "shorter"])
    def test_a_renewal_is_read_back(self, provider: Provider, seconds: int) -> None:
        """The edge moves both ways, and the next question sees it too."""
        machine = self.running(provider)
        self.ready(provider, machine)
        renewed = done(self.ask(provider, machine, AgentRequest(command=AgentCommand.RENEW, edge_seconds=seconds)))
        self._assert_remaining(renewed, seconds)
        self._assert_remaining(done(self.ask(provider, machine, READY)), seconds)

    def test_an_idle_timeout_is_read_back_and_leaves_the_edge(self, provider: Provider) -> None:
        """It changes alone, with an edge, and to never; what wasn't asked for stays."""
        machine = self.running(provider)
        self.ready(provider, machine)
        alone = self._renewed(provider, machine, idle_timeout_seconds=7200)
        assert alone.idle_timeout_seconds == 7200
        assert alone.idle_remaining_seconds is not None
        assert 7200 - self.boot_slack_seconds <= alone.idle_remaining_seconds <= 7200
        self._assert_remaining(alone, self.edge_seconds)
        both = self._renewed(provider, machine, idle_timeout_seconds=0, edge_seconds=1800)
        assert (both.idle_timeout_seconds, both.idle_remaining_seconds) == (None, None)
        self._assert_remaining(both, 1800)
        assert self._renewed(provider, machine, edge_seconds=7200).idle_timeout_seconds is None

    def test_a_machine_nobody_uses_stops_itself_and_says_why(self, provider: Provider) -> None:
        """Idleness counts from when it became ready; our own questions are no use."""
        machine = self.running(provider)
        answer = self.ready(provider, machine)
        assert answer.last_activity_at == answer.ready_at
        self._renewed(provider, machine, idle_timeout_seconds=self.short_idle_seconds)
        over = self.in_state(provider, machine.id, MachineState.STOPPED, MachineState.TERMINATED, MachineState.GONE)
        assert over.reason == "idle"
        assert over.reason_detail

    def test_use_puts_the_idle_stop_off_and_is_the_evidence(self, provider: Provider) -> None:
        """A machine in use runs on, and the last use is what its end names."""
        machine = self.running(provider)
        before = self.ready(provider, machine)
        self._renewed(provider, machine, idle_timeout_seconds=self.short_idle_seconds)
        self.use(provider, machine)

        def look() -> AgentAnswer | None:
            answer = done(self.ask(provider, machine, AgentRequest(command=AgentCommand.FACTS)))
            return answer if answer.activities else None

        used = self.eventually(provider, look, f"{machine.id} has seen its use")
        assert used.last_activity_at is not None
        assert before.ready_at is not None
        assert used.last_activity_at >= before.ready_at
        over = self.in_state(provider, machine.id, MachineState.STOPPED, MachineState.TERMINATED, MachineState.GONE)
        assert over.reason == "idle"
        assert used.activities[0].detail in over.reason_detail

    def test_a_shortened_edge_ends_the_machine(self, provider: Provider) -> None:
        """A machine told to end sooner ends by itself, and why is read afterwards."""
        machine = self.running(provider)
        self.ready(provider, machine)
        done(self.ask(provider, machine, AgentRequest(command=AgentCommand.RENEW, edge_seconds=self.short_edge_seconds)))
        over = self.in_state(provider, machine.id, MachineState.STOPPED, MachineState.TERMINATED, MachineState.GONE)
        assert over.reason == "edge"

    def test_pushed_files_are_read_back_by_digest(self, provider: Provider) -> None:
        """The digest is over exactly the files pushed, and the machine knows that it holds secrets."""
        machine = self.running(provider)
        assert not self.ready(provider, machine).has_secrets
        pushed = done(self.ask(provider, machine, AgentRequest(command=AgentCommand.SECRETS, files=self.files_to_push)))
        assert pushed.pushed_digest == digest(dict(self.files_to_push))
        assert done(self.ask(provider, machine, READY)).has_secrets

    def test_facts_are_answered(self, provider: Provider) -> None:
        """Facts of activity carry a kind and a time."""
        machine = self.running(provider)
        self.ready(provider, machine)
        facts = done(self.ask(provider, machine, AgentRequest(command=AgentCommand.FACTS)))
        assert all(activity.kind and activity.time.tzinfo is not None for activity in facts.activities)

    def test_a_quiesced_machine_is_quiet(self, provider: Provider) -> None:
        """After quiesce the machine says that it is quiet, and asking again is harmless."""
        machine = self.running(provider)
        self.ready(provider, machine)
        request = AgentRequest(command=AgentCommand.QUIESCE, grace_seconds=1)
        assert done(self.ask(provider, machine, request)).is_quiet
        assert done(self.ask(provider, machine, request)).is_quiet

    def test_a_machine_that_is_not_there_answers_nothing(self, provider: Provider) -> None:
        """No machine, no answer; and no exception."""
        if not isinstance(provider, CanAnswerAgent):
            pytest.skip("this platform doesn't answer for the agent (CanAnswerAgent)")
        assert not isinstance(provider.ask_agent("no-such-machine", READY), Done)

    def _renewed(
        self, provider: Provider, machine: Machine, *, edge_seconds: int | None = None, idle_timeout_seconds: int | None = None
    ) -> AgentAnswer:
        request = AgentRequest(command=AgentCommand.RENEW, edge_seconds=edge_seconds, idle_timeout_seconds=idle_timeout_seconds)
        return done(self.ask(provider, machine, request))

    def _assert_remaining(self, answer: AgentAnswer, seconds: int) -> None:
        assert answer.remaining_seconds is not None, "the machine has no armed edge"
        assert seconds - self.boot_slack_seconds <= answer.remaining_seconds <= seconds
