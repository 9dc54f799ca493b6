"""Where concrete things are chosen: the only module that reads the environment, and the only one that names implementations.

Everything is made on first use and imported where it is made. Commands take from here exactly the ports a use case needs and pass
them on by keyword; nothing below the command line ever sees this object.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from nodusctl.cli.output.colour import ColourChoice
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.surroundings import Surroundings

if TYPE_CHECKING:
    from datetime import datetime
    from tempfile import TemporaryDirectory

    from nodusctl.base.clock import Clock, Wall
    from nodusctl.base.ids import IdSource
    from nodusctl.base.money import Money
    from nodusctl.cli.project import Project
    from nodusctl.cli.settings import Settings
    from nodusctl.cli.source_places import SourcePlaces
    from nodusctl.engine.repricing import RateOf
    from nodusctl.executor.outside import Outside
    from nodusctl.plugins.plugins import Plugins
    from nodusctl.ports.claims import Claims
    from nodusctl.ports.journal import Journal
    from nodusctl.ports.passes import Passes
    from nodusctl.ports.prices import PriceSource
    from nodusctl.ports.progress import Progress
    from nodusctl.ports.providers import ProviderSet
    from nodusctl.ports.reach import KeySource, Reach
    from nodusctl.ports.secrets import SecretSource
    from nodusctl.provider.contract import ProviderContext
    from nodusctl.state.terms import Terms
    from nodusctl.store.opening import State
    from nodusctl.store.sealing import KeyMaterial


def read_surroundings() -> Surroundings:
    """This process's environment, words, folder and streams."""
    return Surroundings(
        environment=dict(os.environ),
        arguments=tuple(sys.argv[1:]),
        folder=Path.cwd(),
        stdin=sys.stdin,
        stdout=sys.stdout,
        stderr=sys.stderr,
    )


class Wiring:
    """One command's concrete things, each made when first asked for."""

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        chdir: str = "",
        colour: ColourChoice = ColourChoice.AUTO,
        settings: Settings | None = None,
    ) -> None:
        self.surroundings = surroundings
        self._person_settings = settings
        self.start = surroundings.folder / chdir if chdir else surroundings.folder
        self._colour = colour
        self._paths: tuple[str, ...] = ()
        self._output: Output | None = None
        self._reports: list[Output] = []
        self._streams: list[Output] = []
        self._files: list[TextIO] = []
        self._states: list[State] = []
        self._folders: list[TemporaryDirectory[str]] = []

    def select(self, paths: Sequence[str]) -> None:
        """The PATHs of this command; before the project is asked for, because one of them may be the project. ``-`` is stdin."""
        self._paths = tuple(self._stdin_file() if path == "-" else path for path in paths)

    def _stdin_file(self) -> str:
        from tempfile import TemporaryDirectory

        folder = TemporaryDirectory(prefix="nodusctl-")
        self._folders.append(folder)
        path = Path(folder.name) / "stdin.yaml"
        path.write_text(self.surroundings.stdin.read(), encoding="utf-8")
        return str(path)

    # Words

    def output(self, *, is_json: bool) -> Output:
        """The command's output; the first call decides its form."""
        if self._output is None:
            from nodusctl.cli.output.making import github_beside, is_github_run, main_output, with_beside

            around = self.surroundings
            main = main_output(around, self.wall, self._colour, is_json=is_json)
            beside = [github_beside(around, self.source_places)] if is_github_run(around) else []
            self._output = with_beside(main, (*self._reports, *self._streams, *beside))
        return self._output

    def stream_into(self, path: Path) -> None:
        """``--json-into``: from now on the JSON lines also go to this file. OSError where it can't be written."""
        from nodusctl.cli.output.making import stream_beside

        file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")  # noqa: SIM115, PTH123
        self._files.append(file)
        self._streams.append(stream_beside(file, str(path), self.wall))

    def report(self, command: str, **paths: str) -> None:
        """Reports beside the output (``junit``, ``sarif``), before the first word; an empty path is none. UserError (64) as ReportFile."""
        from nodusctl.cli.output.report_files import ReportFile

        wanted = [(f"--{name}", path) for name, path in paths.items() if path]
        self._reports += [ReportFile(option, self.start / path, command, self.source_places) for option, path in wanted]

    @cached_property
    def source_places(self) -> SourcePlaces:
        """Where files that diagnostics name lie in their repository."""
        from nodusctl.cli.source_places import SourcePlaces

        return SourcePlaces(self._source_folders)

    def _source_folders(self) -> tuple[Path, ...]:
        from nodusctl.base.exits import UserError

        try:
            return (self.project.folder, self.start)
        except UserError:
            return (self.start,)

    # Time and identity

    @cached_property
    def wall(self) -> Wall:
        """This computer's time."""
        from nodusctl.base.clock import SystemWall

        return SystemWall()

    @cached_property
    def clock(self) -> Clock:
        """The domain's time: NODUSCTL_NOW, else the world's where every provider of the project is simulated, else the computer's."""
        if self.surroundings.environment.get("NODUSCTL_NOW"):
            return self.own_clock
        types = {provider.type for provider in self.project.file.providers}
        if types == {"simulated"}:
            worlds = [self.providers.get(name).simulation for name in self.providers.names()]
            if len(worlds) == 1 and worlds[0] is not None:
                return worlds[0].simulated_clock()
        return self.own_clock

    @cached_property
    def own_clock(self) -> Clock:
        """The time without asking any provider: NODUSCTL_NOW, else the computer's."""
        from nodusctl.base.clock import FixedClock, SystemClock

        fixed = self.surroundings.environment.get("NODUSCTL_NOW")
        return FixedClock(_moment(fixed)) if fixed else SystemClock()

    @cached_property
    def ids(self) -> IdSource:
        """Where uids come from: counted ones under a fixed clock, so that plans/ can be compared."""
        from nodusctl.base.ids import CountedIds, RandomIds

        return CountedIds() if self.surroundings.environment.get("NODUSCTL_NOW") else RandomIds()

    @cached_property
    def who(self) -> str:
        """``user@host``, as it stands in plans and operations."""
        if self.surroundings.environment.get("NODUSCTL_NOW"):
            return "you@example"
        from nodusctl.store.holders import this_holder

        holder = this_holder(self.command)
        return f"{holder.user}@{holder.host}"

    @property
    def command(self) -> str:
        """The command line, as locks and operations name it."""
        return " ".join(("nodusctl", *self.surroundings.arguments))

    # The project and its state

    @property
    def person_settings(self) -> Settings:
        """Settings of the command line that are known before any project is."""
        from nodusctl.cli.settings import NO_SETTINGS

        return self._person_settings or NO_SETTINGS

    @cached_property
    def settings(self) -> Settings:
        """Settings of the command line, the project's among them."""
        from nodusctl.cli.settings_files import project_layer

        return self.person_settings.under(project_layer(self.project.file))

    @property
    def key_file(self) -> Path:
        """Where the state's encryption key lies when it isn't in the environment."""
        named = self.person_settings.text("stateKeyFile")
        return Path(named).expanduser() if named else self.data_folder / "state.key"

    @property
    def key_material(self) -> KeyMaterial:
        """Where this person's keys to states are."""
        from nodusctl.store.sealing import VARIABLE, KeyMaterial

        return KeyMaterial(
            text=self.surroundings.environment.get(VARIABLE, ""),
            path=self.key_file,
            member_path=self.data_folder / "member.key",
            uses_keyring=self.person_settings.text("stateKeySource") == "keyring",
        )

    def reopen_reading(self) -> State:
        """The state as it is on disk now: a state that wasn't there a moment ago may have been created."""
        self.__dict__.pop("reading", None)
        return self.reading

    @cached_property
    def project(self) -> Project:
        """The project of this command."""
        from nodusctl.cli.project import open_project

        return open_project(self.start, self._paths)

    @cached_property
    def reading(self) -> State:
        """The state for commands that only read: not one byte of it changes."""
        return self._open_state(read_only=True)

    @cached_property
    def writing(self) -> State:
        """The state for commands that change something; who waits long for its lock is told whose it is."""
        from nodusctl.cli.announced_waits import AnnouncedClaims

        state = self._open_state(read_only=False)
        return replace(state, claims=AnnouncedClaims(state.claims, self._remark))

    def _remark(self, text: str) -> None:
        if self._output is not None:
            self._output.remark(text)

    @cached_property
    def passes(self) -> Passes:
        """The passes of ``tick``, asked without opening the state for more than that."""
        from nodusctl.store.light_passes import passes_beside

        return passes_beside(self.project.state_url, self.project.folder, lambda: self.writing.passes)

    @property
    def journal(self) -> Journal:
        """The state's journal, read-only."""
        return self.reading.journal

    @property
    def claims(self) -> Claims:
        """The state's locks and claims, read-only."""
        return self.reading.claims

    def _open_state(self, *, read_only: bool) -> State:
        from nodusctl.store.opening import open_state

        state = open_state(
            self.project.state_url,
            root=self.project.folder,
            key=self.key_material,
            wall=self.wall,
            holder_command=self.command,
            read_only=read_only,
        )
        self._states.append(state)
        return state

    # Providers, prices, keys

    @cached_property
    def providers(self) -> ProviderSet:
        """The project's provider instances. UserError where a plugin isn't the one that was locked: nothing goes on with another one."""
        from nodusctl.base.exits import UserError

        faults = self.plugins.lock_faults()
        if faults:
            raise UserError(*faults)
        return self.plugins

    @cached_property
    def plugins(self) -> Plugins:
        """The same for commands that tell what is wrong: a plugin that isn't the one that was locked is a finding, and is not imported."""
        from nodusctl.plugins.lock_file import read_lock
        from nodusctl.plugins.plugins import Plugins

        settings = {one.name: {"type": one.type, **one.settings} for one in self.project.file.providers}
        return Plugins(settings, self._provider_context, lock=read_lock(self.project.folder))

    def _provider_context(self, instance: str) -> ProviderContext:
        from nodusctl.base.clock import SystemClock
        from nodusctl.provider.contract import ProviderContext

        project = self.project
        return ProviderContext(
            instance=instance,
            project_dir=str(project.folder),
            state_dir=str(project.state_folder),
            data_dir=str(self.data_folder),
            clock=SystemClock(),
            wall=self.wall,
            environment=self.surroundings.environment,
        )

    @cached_property
    def prices(self) -> PriceSource:
        """The shipped book of the provider types in use, then the project's own files."""
        from nodusctl.catalog.prices import CatalogPrices

        own = self.project.file.settings.prices
        files = [self.project.folder / name for name in (own.files if own is not None and own.files else ())]
        return CatalogPrices(frozenset(one.type for one in self.project.file.providers), files)

    @property
    def whole_price_book(self) -> PriceSource:
        """The shipped book of every provider type, then the project's own files: to look at, not to plan with."""
        from nodusctl.catalog.prices import CatalogPrices

        own = self.project.file.settings.prices
        files = [self.project.folder / name for name in (own.files if own is not None and own.files else ())]
        return CatalogPrices(None, files)

    @cached_property
    def keys(self) -> KeySource:
        """Where machines' key pairs come from."""
        from nodusctl.remote.keys import OpenSshKeys

        return OpenSshKeys()

    @cached_property
    def reach(self) -> Reach:
        """Plain OpenSSH, or the platform itself where it answers."""
        from nodusctl.remote.reach import RoutedReach, SshReach

        return RoutedReach(lambda instance: self.providers.get(instance).agent, SshReach())

    @cached_property
    def secrets(self) -> SecretSource:
        """Where values of Secrets are read."""
        from nodusctl.cli.secret_source import PersonSecrets

        return PersonSecrets(self.surroundings.environment, self.project.folder)

    def outside(self, progress: Progress) -> Outside:
        """Everything the executor may touch."""
        from nodusctl.bootstrap.rendering import Boots
        from nodusctl.engine.budget_room import BudgetRoom
        from nodusctl.engine.pass_times import PassTimes
        from nodusctl.engine.person_keys import PersonKeys
        from nodusctl.executor.outside import Outside
        from nodusctl.lifecycle.situation import Rules
        from nodusctl.remote.keys import person_key

        state = self.writing
        state.keys.require_member()
        room = BudgetRoom(state.journal, self.project.name, self.clock.now)
        return Outside(
            journal=state.journal,
            claims=state.claims,
            providers=self.providers,
            reach=self.reach,
            keys=self.keys,
            boots=Boots(),
            clock=self.clock,
            wall=self.wall,
            ids=self.ids,
            progress=progress,
            project=self.project.name,
            owner=self.who,
            person_keys=PersonKeys(state.journal, cache(lambda: person_key(str(self.data_folder))[0].public)),
            rate_of=self._current_rate,
            room_for=room.left_for,
            guards_of=room.guards_for,
            last_pass_of=PassTimes(state.passes),
            rules=Rules(lease_term=self.project.file.settings.lease_term, window_lead=self.project.file.settings.window_lead),
        )

    def _current_rate(self, terms: Terms, now: datetime) -> Money | None:
        """What terms cost now; each provider is asked once a command."""
        return self._current_rates(terms, now)

    @cached_property
    def _current_rates(self) -> RateOf:
        from nodusctl.engine.current_rates import CurrentRates
        from nodusctl.engine.market import configured_rates

        return CurrentRates(self.providers, self.prices, configured_rates(self.project.file))

    # Folders of this user

    @cached_property
    def data_folder(self) -> Path:
        """Where this user's keys lie, outside every project (XDG data home)."""
        import platformdirs

        return Path(platformdirs.user_data_dir("nodusctl", appauthor=False))

    @property
    def ssh_folder(self) -> Path:
        """The folder of this user's ssh configuration."""
        home = self.surroundings.environment.get("HOME")
        return (Path(home) if home else Path.home()) / ".ssh"

    @property
    def ssh_reads_its_folder(self) -> bool:
        """False where HOME is not the account's own: ssh goes by the account alone."""
        import pwd

        return self.ssh_folder == Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".ssh"

    @property
    def crash_folder(self) -> Path:
        """Where crash reports go (XDG state home)."""
        import platformdirs

        return Path(platformdirs.user_state_dir("nodusctl", appauthor=False))

    def close(self) -> None:
        """Give back what was opened."""
        for state in self._states:
            state.close()
        for folder in self._folders:
            folder.cleanup()
        for file in self._files:
            with suppress(OSError):
                file.close()


def _moment(text: str) -> datetime:
    from nodusctl.base.diagnostics import error
    from nodusctl.base.exits import ExitCode, UserError
    from nodusctl.base.timestamps import parse_time

    try:
        return parse_time(text)
    except ValueError as fault:
        raise UserError(error("Usage", "NODUSCTL_NOW is no time", f"It says {text!r}; {fault}."), exit_code=ExitCode.USAGE) from None
