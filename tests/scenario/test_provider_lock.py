"""``.nodus.lock.yaml``: a plugin is imported only where it is the one that was locked, and only ``providers lock`` writes the lock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import LAB, NOW, SIMULATED, CommandLine
from support.plugin_kit import Plugin, plugin

from nodusctl.base.exits import ExitCode

__all__ = ["plugin"]

LOCK = ".nodus.lock.yaml"


@pytest.fixture
def locked(cli: CommandLine, plugin: Plugin) -> CommandLine:
    """A project on the strange cloud, locked, in a process that hasn't imported it yet."""
    cli.write("nodusctl.yaml", SIMULATED.replace("type: simulated", "type: strange"))
    assert cli("providers", "lock").code is ExitCode.DONE
    assert not plugin.is_imported(), "locking imports nothing"
    return cli


def text(cli: CommandLine) -> str:
    return (cli.folder / LOCK).read_text()


def test_a_plugin_that_is_the_locked_one_is_used(locked: CommandLine, plugin: Plugin) -> None:
    assert locked("plan").code is ExitCode.DONE
    assert plugin.is_imported()


def changed_file(plugin: Plugin) -> None:
    plugin.module.write_text(plugin.module.read_text() + "\n# changed\n")


def changed_file_and_record(plugin: Plugin) -> None:
    """Somebody careful: the list says what the files are, too."""
    replace(plugin, more="    worse = True").install()


def added_file(plugin: Plugin) -> None:
    (plugin.site / "nodus_strange" / "json.py").write_text("import os\n")


def removed_file(plugin: Plugin) -> None:
    (plugin.site / "nodus_strange" / "__init__.py").unlink()


def other_version(plugin: Plugin) -> None:
    plugin.remove()
    replace(plugin, version="1.3.0").install()


def run_from_sources(plugin: Plugin) -> None:
    (plugin.site / plugin.info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')


def shadowed(plugin: Plugin) -> None:
    """Another package of this name comes first on the path."""
    other = plugin.folder / "other"
    (other / "nodus_strange").mkdir(parents=True)
    (other / "nodus_strange" / "__init__.py").write_text("")
    (other / "nodus_strange" / "cloud.py").write_text(plugin.module.read_text())
    sys.path.insert(0, str(other))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed_file, "nodus_strange/cloud.py changed since it was installed"),
        (changed_file_and_record, "are none of those locked"),
        (added_file, "nodus_strange/json.py lies in its packages and is not its own"),
        (removed_file, "nodus_strange/__init__.py can't be read"),
        (other_version, "it is nodus-strange 1.3.0 here"),
        (run_from_sources, "it is run from its sources here"),
        (shadowed, "would be imported from elsewhere"),
    ],
)
def test_another_one_is_fatal_before_it_is_imported(
    locked: CommandLine, plugin: Plugin, monkeypatch: pytest.MonkeyPatch, change: Callable[[Plugin], None], said: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = text(locked)
    change(plugin)
    for words in (("plan",), ("apply", "--yes"), ("offers",), ("state", "snapshot", "-o", "s.json")):
        refused = locked(*words)
        assert refused.code is ExitCode.ERROR, words
        assert "error[PluginDiffers]" in refused.err, words
        assert said in " ".join(refused.err.split()), words
        assert f"{LOCK}:5:" in refused.err
    assert not plugin.is_imported()
    assert text(locked) == before, "never a silent re-lock"
    assert not (locked.folder / ".nodus" / "state.db").exists()


def test_providers_list_and_doctor_say_it_and_import_nothing(locked: CommandLine, plugin: Plugin) -> None:
    changed_file(plugin)
    listed = locked("providers", "list")
    assert listed.code is ExitCode.DONE
    (line,) = (line for line in listed.out.splitlines() if line.startswith("strange "))
    assert "not the one that was locked" in line
    checked = locked("doctor", "sim")
    assert checked.code is ExitCode.ERROR
    assert "PluginDiffers" in checked.out + checked.err
    assert not plugin.is_imported()


def test_what_is_not_in_the_lock_is_not_imported_either(cli: CommandLine, plugin: Plugin) -> None:
    def states() -> tuple[str, str]:
        (listed,) = (line for line in cli("providers", "list").out.splitlines() if line.startswith("strange "))
        (checked,) = (line for line in cli("doctor").out.splitlines() if " plugin " in line and " strange " in line)
        return listed, checked

    assert cli("providers", "lock").code is ExitCode.DONE
    listed, checked = states()
    assert listed.endswith("not used by this project, not locked") and checked.endswith("not locked; not used by this project")
    cli.write("nodusctl.yaml", SIMULATED + "  more: {type: strange, world: world.yaml}\n")
    listed, checked = states()
    assert listed.endswith("not locked: nodusctl providers lock") and checked.endswith(" not locked")
    refused = cli("plan")
    assert refused.code is ExitCode.ERROR
    assert "error[PluginUnlocked]" in refused.err and "nodusctl providers lock" in refused.err
    assert not plugin.is_imported()


def test_a_saved_plan_is_shown_and_a_snapshot_planned_from_without_the_plugin(locked: CommandLine, plugin: Plugin) -> None:
    locked("plan", "-o", "p.nodusplan")
    assert locked("state", "snapshot", "-o", "s.json").code is ExitCode.DONE
    plugin.forget()
    changed_file(plugin)
    assert locked("show", "p.nodusplan").code is ExitCode.DONE
    assert locked("plan", "--snapshot", "s.json").code is ExitCode.DONE
    assert not plugin.is_imported()


def test_without_a_lock_nothing_is_compared_and_a_plan_still_knows_its_plugin(cli: CommandLine, plugin: Plugin) -> None:
    cli.write("nodusctl.yaml", SIMULATED.replace("type: simulated", "type: strange"))
    assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    plugin.forget()
    changed_file_and_record(plugin)
    refused = cli("apply", "p.nodusplan")
    assert refused.code is ExitCode.REFUSED
    assert "its files are others" in refused.err


class TestLocking:
    """``providers lock``."""

    def test_a_plugin_that_ships_with_nodusctl_is_locked_by_its_version(self, cli: CommandLine) -> None:
        done = cli("providers", "lock")
        assert (done.code, done.out) == (ExitCode.DONE, "simulated: nodusctl 0.1.0, by the version of nodusctl\n")
        assert "builtIn: true" in text(cli)
        assert cli("plan").code is ExitCode.DONE
        cli.write(LOCK, text(cli).replace("0.1.0", "0.0.9"))
        refused = cli("plan")
        assert refused.code is ExitCode.ERROR
        assert "locked to nodusctl 0.0.9; it is nodusctl 0.1.0 here" in " ".join(refused.err.split())

    def test_the_wheel_and_what_was_installed_from_it_have_one_digest(self, locked: CommandLine, plugin: Plugin, tmp_path: Path) -> None:
        wheel = plugin.wheel(tmp_path / "wheels")
        done = locked("providers", "lock", "--from", str(tmp_path / "wheels"))
        assert done.code is ExitCode.DONE
        assert wheel.name in text(locked) and text(locked).count("contents:") == 2
        assert len({line.split()[-1] for line in text(locked).splitlines() if "contents:" in line}) == 1
        assert locked("plan").code is ExitCode.DONE

    def test_wheels_of_other_platforms_are_locked_from_a_folder(self, locked: CommandLine, plugin: Plugin, tmp_path: Path) -> None:
        """What runs elsewhere has other files; the lock made here is right there too."""
        elsewhere = replace(plugin, more="    compiled = 'for arm'")
        elsewhere.wheel(tmp_path / "wheels", "cp311-cp311-macosx_11_0_arm64")
        done = locked("providers", "lock", "--from", str(tmp_path / "wheels"), "--platform", "macosx_11_0_arm64")
        assert done.code is ExitCode.DONE, done.err
        assert "macosx_11_0_arm64" in text(locked)
        elsewhere.install()
        assert locked("plan").code is ExitCode.DONE, "this computer is now the other one"

    def test_a_platform_that_no_wheel_covers_is_told(self, locked: CommandLine, plugin: Plugin, tmp_path: Path) -> None:
        plugin.wheel(tmp_path / "wheels", "cp311-cp311-macosx_11_0_arm64")
        before = text(locked)
        refused = locked("providers", "lock", "--from", str(tmp_path / "wheels"), "--platform", "win_amd64")
        assert refused.code is ExitCode.ERROR
        assert "no wheel of 1.2.0 for win_amd64" in " ".join(refused.err.split())
        assert text(locked) == before

    def test_wheels_come_from_the_persons_own_index_through_pip(self, locked: CommandLine, plugin: Plugin, tmp_path: Path) -> None:
        plugin.wheel(tmp_path / "index")
        own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "PIP_CONFIG_FILE": "/dev/null"}
        with_pip = replace(locked, environment=own)
        done = with_pip("providers", "lock", "--platform", "manylinux2014_aarch64")
        assert done.code is ExitCode.DONE, done.err
        assert "nodus_strange-1.2.0-py3-none-any.whl" in text(locked)
        refused = replace(locked, environment={**own, "PIP_FIND_LINKS": str(tmp_path)})("providers", "lock", "--platform", "win_amd64")
        assert refused.code is ExitCode.ERROR
        assert "pip could not fetch nodus-strange==1.2.0 for win_amd64" in " ".join(refused.err.split())

    def test_a_wheel_that_is_not_what_its_record_says_is_refused(self, locked: CommandLine, plugin: Plugin, tmp_path: Path) -> None:
        import zipfile

        wheel = plugin.wheel(tmp_path / "wheels")
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr("nodus_strange/extra.py", "import os\n")
        refused = locked("providers", "lock", "--from", str(tmp_path / "wheels"))
        assert refused.code is ExitCode.ERROR
        assert "nodus_strange/extra.py" in refused.err and "is not what its RECORD says" in " ".join(refused.err.split())

    def test_the_same_version_with_other_content_is_not_locked_again(self, locked: CommandLine, plugin: Plugin) -> None:
        before = text(locked)
        changed_file_and_record(plugin)
        refused = locked("providers", "lock")
        assert refused.code is ExitCode.ERROR
        assert "The same version has other content" in refused.err
        assert text(locked) == before

    def test_a_wheel_that_was_replaced_under_its_name_is_not_locked_again(
        self, locked: CommandLine, plugin: Plugin, tmp_path: Path
    ) -> None:
        plugin.wheel(tmp_path / "wheels")
        assert locked("providers", "lock", "--from", str(tmp_path / "wheels")).code is ExitCode.DONE
        replace(plugin, more="    worse = True").wheel(tmp_path / "wheels")
        refused = locked("providers", "lock", "--from", str(tmp_path / "wheels"))
        assert refused.code is ExitCode.ERROR
        assert "py3-none-any.whl has another content than it had" in " ".join(refused.err.split())

    def test_another_version_is_locked_on_purpose_and_said(self, locked: CommandLine, plugin: Plugin) -> None:
        other_version(plugin)
        done = locked("providers", "lock")
        assert done.out == "strange: nodus-strange 1.2.0 -> nodus-strange 1.3.0, 1 artefact\n"
        assert locked("plan").code is ExitCode.DONE

    def test_one_that_is_run_from_its_sources_says_so(self, cli: CommandLine, plugin: Plugin) -> None:
        cli.write("nodusctl.yaml", SIMULATED.replace("type: simulated", "type: strange"))
        run_from_sources(plugin)
        done = cli("providers", "lock")
        assert done.code is ExitCode.DONE
        assert "warning[PluginEditable]" in done.err and "editable: true" in text(cli)
        assert cli("plan").code is ExitCode.DONE
        plugin.install()
        assert "it was locked as run from its sources, and isn't" in " ".join(cli("plan").err.split())

    def test_what_is_not_installed_can_not_be_locked(self, cli: CommandLine) -> None:
        cli.write("nodusctl.yaml", SIMULATED.replace("type: simulated", "type: nowhere"))
        refused = cli("providers", "lock")
        assert refused.code is ExitCode.ERROR
        assert not (cli.folder / LOCK).exists()

    def test_locking_twice_gives_the_same_file(self, locked: CommandLine) -> None:
        before = text(locked)
        assert locked("providers", "lock").code is ExitCode.DONE
        assert text(locked) == before


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("version: 2\nproviders: {}\n", ":1:"),
        ("version: 1\nproviders: []\n", ":2:"),
        ("version: 1\nproviders:\n  strange: {distribution: x}\n", ":3:"),
        ("version: 1\nproviders:\n  strange: {distribution: x, version: '1', artefacts: [{contents: a}]}\n", ":3:"),
        ("version: 1\nversion: 1\n", ":2:"),
    ],
)
def test_a_lock_that_can_not_be_read_stops_the_command_with_its_place(cli: CommandLine, content: str, place: str) -> None:
    cli.write(LOCK, content)
    refused = cli("plan")
    assert refused.code is ExitCode.ERROR
    assert f"{LOCK}{place}" in refused.err


def test_the_lock_is_no_spec(cli: CommandLine) -> None:
    cli("providers", "lock")
    cli.write("ws.yaml", LAB)
    assert cli("validate").code is ExitCode.DONE
    assert NOW
