"""Which source of a setting wins, and that the flags honour it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.commands import SIMULATED, CommandLine

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.settings import Layer, Level, Settings, from_environment, from_flags


def _user_file(text: str) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "nodusctl"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(text)


def _origins(cli: CommandLine, *words: str) -> dict[str, tuple[str, str]]:
    ran = cli("config", "view", "--origin", "--json", *words)
    assert ran.code is ExitCode.DONE, ran.err
    rows = json.loads(ran.out.splitlines()[1])["settings"]
    return {row["name"]: (row["value"], row["origin"]) for row in rows}


def test_the_strongest_layer_wins_whatever_the_order_they_were_added_in() -> None:
    layers = [Layer(level=level, values={"timeout": f"{place + 1}m"}) for place, level in enumerate(Level)]
    settings = Settings()
    for count, layer in enumerate(reversed(layers[:-1]), start=1):
        settings = settings.under(layer)
        assert settings.chosen("timeout").level is layer.level, f"after {count} layers"
    assert Settings().chosen("timeout").level is Level.DEFAULT


def test_an_empty_variable_and_a_flag_not_given_say_nothing() -> None:
    assert from_environment({"NODUSCTL_TIMEOUT": ""}).values == {}
    assert from_flags(color="", chdir="").values == {}


@pytest.mark.parametrize(("variable", "text"), [("NODUSCTL_PARALLELISM", "0"), ("NODUSCTL_TIMEOUT", "soon"), ("NODUSCTL_COLOR", "pink")])
def test_an_unreadable_variable_is_a_usage_error_that_names_it(variable: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        from_environment({variable: text})
    assert caught.value.exit_code is ExitCode.USAGE
    assert variable in caught.value.diagnostics[0].detail


def test_flag_over_environment_over_project_over_user_over_default(cli: CommandLine) -> None:
    assert _origins(cli)["parallelism"] == ("10", "default")
    _user_file("parallelism: 2\ntimeout: 2m\nlockTimeout: 2s\ncolor: never\n")
    assert _origins(cli)["parallelism"] == ("2", "user file")
    cli.write("nodusctl.yaml", SIMULATED + "cli: {parallelism: 3, timeout: 3m}\n")
    assert _origins(cli)["parallelism"] == ("3", "project file")
    cli.environment = {"NODUSCTL_PARALLELISM": "4"}
    found = _origins(cli, "--color", "always")
    assert found["parallelism"] == ("4", "environment")
    assert found["timeout"] == ("3m", "project file")
    assert found["lockTimeout"] == ("2s", "user file")
    assert found["color"] == ("always", "flag")


def test_the_place_of_a_file_s_value_is_its_line(cli: CommandLine) -> None:
    cli.write("nodusctl.yaml", SIMULATED + "cli:\n  timeout: 3m\n")
    assert "nodusctl.yaml:5:12" in cli("config", "view", "--origin").out


def test_the_state_key_itself_is_never_shown(cli: CommandLine) -> None:
    ran = cli("config", "view", "--origin")
    assert "NODUSCTL_STATE_KEY" in ran.out
    assert "a key for tests" not in ran.out


def test_apply_honours_a_timeout_from_the_environment(cli: CommandLine) -> None:
    cli.environment = {"NODUSCTL_TIMEOUT": "1s"}
    ran = cli("apply", "--yes")
    assert ran.code is ExitCode.PARTIAL
    assert cli("apply", "--yes", "--timeout", "10m").code is ExitCode.DONE


def test_chdir_from_the_environment_finds_the_project(cli: CommandLine) -> None:
    elsewhere = CommandLine(cli.folder.parent, {"NODUSCTL_CHDIR": str(cli.folder)})
    assert "workspace/lab" in elsewhere("plan").out


def test_a_misspelt_setting_is_refused_with_its_place_and_the_nearest_name(cli: CommandLine) -> None:
    _user_file("paralelism: 2\n")
    ran = cli("get", "ws")
    assert ran.code is ExitCode.USAGE
    assert "config.yaml:1:1" in ran.err
    assert "Did you mean parallelism?" in ran.err
    assert cli("version").code is ExitCode.DONE
