"""Values are read where a file says they are, at that moment, without a shell, and no fault repeats one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.base.exits import UserError
from nodusctl.cli.secret_source import PersonSecrets
from nodusctl.resources.resource import ValueSource


@pytest.fixture
def secrets(tmp_path: Path) -> PersonSecrets:
    (tmp_path / "key").write_bytes(b"from a file\n\x00\xff")
    return PersonSecrets({"KEY": "from the environment", "PATH": "/usr/bin:/bin"}, tmp_path)


def test_an_environment_variable_a_file_of_the_project_and_what_a_command_prints(secrets: PersonSecrets) -> None:
    assert secrets.read(ValueSource(env="KEY")) == b"from the environment"
    assert secrets.read(ValueSource(file="key")) == b"from a file\n\x00\xff"
    assert secrets.read(ValueSource(command=("cat", "key"))) == b"from a file\n\x00\xff"
    assert secrets.read(ValueSource(command=("printf", "two\nlines\r\n"))) == b"two\nlines"


def test_a_command_is_words_for_a_program_and_not_for_a_shell(secrets: PersonSecrets) -> None:
    assert secrets.read(ValueSource(command=("echo", "$KEY; touch made > made && `id`"))) == b"$KEY; touch made > made && `id`"
    assert not (secrets.folder / "made").exists()


def test_a_command_is_given_no_input_and_a_limit(secrets: PersonSecrets) -> None:
    assert secrets.read(ValueSource(command=("cat",))) == b""
    with pytest.raises(UserError) as refusal:
        replace(secrets, limit_seconds=0.5).read(ValueSource(command=("sleep", "30")))
    assert "didn't end within 0.5 s" in refusal.value.diagnostics[0].detail


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (ValueSource(env="NOT_SET"), "NOT_SET"),
        (ValueSource(file="missing"), "missing"),
        (ValueSource(command=("no-such-program",)), "no-such-program"),
        (ValueSource(command=("sh", "-c", "echo a-value-half-said; exit 3")), "status 3"),
    ],
)
def test_what_gives_no_value_is_named_and_what_it_said_is_not_repeated(secrets: PersonSecrets, source: ValueSource, said: str) -> None:
    with pytest.raises(UserError) as refusal:
        secrets.read(source)
    words = " ".join(f"{one.summary} {one.detail} {one.fix}" for one in refusal.value.diagnostics)
    assert said in words
    assert "a-value-half-said" not in words
