"""The process's edge: which exit code each ending has, and what is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.redaction import REDACTOR
from nodusctl.cli import main as edge
from nodusctl.cli.registry import ENTRIES


@pytest.mark.parametrize("words", [("plan", "--no-such-flag"), ("verson",), ("get",), ("sim", "calls", "--count=3"), ("plan", "--chdir")])
def test_a_usage_error_is_64_and_names_the_help(empty_cli: CommandLine, words: tuple[str, ...]) -> None:
    ran = empty_cli(*words)
    assert ran.code is ExitCode.USAGE
    assert ran.out == ""
    assert "error[Usage]" in ran.err
    assert "--help" in ran.err or "nodusctl" in ran.err


def test_a_misspelt_command_is_told_the_nearest_one(empty_cli: CommandLine) -> None:
    assert "Did you mean 'validate'?" in empty_cli("valdate").err


def test_a_usage_error_speaks_json_where_json_was_asked_for(empty_cli: CommandLine) -> None:
    ran = empty_cli("plan", "--jsn", "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["type"] for line in lines] == ["version", "diagnostic", "exit"]
    assert lines[-1] == {"type": "exit", "code": 64, "name": "usage"}
    assert ran.err == ""


def test_no_words_print_the_help_and_are_a_usage_error(empty_cli: CommandLine) -> None:
    ran = empty_cli()
    assert ran.code is ExitCode.USAGE
    assert "Plan and apply:" in ran.out


@pytest.mark.parametrize(
    ("ending", "code"),
    [(KeyboardInterrupt(), ExitCode.INTERRUPTED), (edge.Terminated(), ExitCode.TERMINATED)],
)
def test_a_signal_has_its_own_code(empty_cli: CommandLine, monkeypatch: pytest.MonkeyPatch, ending: BaseException, code: ExitCode) -> None:
    def interrupted(*_: object) -> ExitCode:
        raise ending

    monkeypatch.setattr(edge, "_dispatch", interrupted)
    assert empty_cli("version").code is code


def test_a_bug_is_70_with_a_redacted_report_only_its_owner_can_read(empty_cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    REDACTOR.remember("canary-3f9c2a71")

    def broken(*_: object) -> ExitCode:
        raise RuntimeError("the provider said canary-3f9c2a71")

    monkeypatch.setattr(edge, "_dispatch", broken)
    ran = empty_cli("plan")
    assert ran.code is ExitCode.BUG
    assert "this is a bug in nodusctl" in ran.err
    # A long path begins on a line of its own.
    path = Path(" ".join(ran.err.split()).partition("The report is in ")[2].split()[0].rstrip("."))
    assert path.stat().st_mode & 0o777 == 0o600
    report = path.read_text(encoding="utf-8")
    assert "RuntimeError" in report
    assert "canary-3f9c2a71" not in report + ran.err + ran.out


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_command_of_the_help_exists_and_explains_itself(
    empty_cli: CommandLine, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typer writes a command's help to the process's own stdout. Its words are kept whole in docs/commands.md."""
    monkeypatch.setenv("COLUMNS", "200")
    assert empty_cli(name, "--help").code is ExitCode.DONE
    written = capsys.readouterr().out
    assert f"Usage: nodusctl {name} " in written
    explained = written.partition("Usage:")[2].partition("Options")[0].splitlines()[1:]
    assert any(len(line.split()) >= 3 for line in explained), written


@pytest.mark.parametrize("words", [("version",), ("--help",)])
def test_help_and_version_load_nothing_heavy(words: tuple[str, ...]) -> None:
    program = (
        f"import sys; sys.argv = ['nodusctl', *{words!r}]\n"
        "from nodusctl.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'typer', 'rich', 'pydantic', 'sqlalchemy', 'alembic', 'ruamel', 'cryptography', 'platformdirs'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_the_module_runs_as_the_program_does() -> None:
    ended = subprocess.run([sys.executable, "-m", "nodusctl", "version"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stdout.startswith("nodusctl ")
