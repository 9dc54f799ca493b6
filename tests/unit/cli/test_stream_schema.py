"""Every line of a real stream keeps ``schemas/stream.json``, and no field is written that isn't described there."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.render.stream_schema import stream_schema

ROOT = Path(__file__).parents[3]
PUBLISHED = json.loads((ROOT / "schemas" / "stream.json").read_text(encoding="utf-8"))
_OPEN = frozenset({"result", "verification"})
BLOCKED = LAB.replace("cpu: 4, memory: 16Gi", "cpu: 400")


def closed(schema: Any, name: str = "") -> Any:
    """The schema with every described object closed, so that a field nobody described is a fault."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(one, key) for key, one in schema.items()}
    if "properties" in inner and isinstance(inner["properties"], dict) and name not in _OPEN:
        inner.setdefault("additionalProperties", False)
    return inner


STRICT = Draft202012Validator(closed(PUBLISHED))


def checked(text: str) -> list[dict[str, Any]]:
    """The lines of a stream, each of which keeps the schema."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        by_type = Draft202012Validator({**STRICT.schema, "oneOf": [{"$ref": f"#/$defs/{line['type']}"}]})
        faults = [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}" for fault in by_type.iter_errors(line)]
        assert faults == []
        STRICT.validate(line)
    assert lines[0]["type"] == "version" and lines[-1]["type"] == "exit"
    assert [line["type"] for line in lines].count("version") == [line["type"] for line in lines].count("exit") == 1
    return lines


def kinds_said() -> Iterator[str]:
    """Types of lines that the source of the program names."""
    for path in (ROOT / "nodusctl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in {"result", "_say", "_write"} and isinstance(node.args[0].value, str):
                yield node.args[0].value


def test_the_schema_describes_exactly_the_types_that_are_written() -> None:
    described = {one["$ref"].rpartition("/")[2] for one in stream_schema()["oneOf"]}
    assert set(kinds_said()) == described


def test_the_schema_itself_is_sound() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert stream_schema() == PUBLISHED


def test_a_field_nobody_described_and_a_line_of_no_type_are_faults() -> None:
    line = {"type": "exit", "code": 0, "name": "done"}
    assert STRICT.is_valid(line)
    assert not STRICT.is_valid({**line, "mood": "fine"})
    assert Draft202012Validator(PUBLISHED).is_valid({**line, "mood": "fine"}), "a reader of today takes what comes tomorrow"
    assert not STRICT.is_valid({"type": "surprise"})
    assert not STRICT.is_valid({**line, "code": 2.5})


def test_a_plan_and_an_apply_keep_it(cli: CommandLine) -> None:
    plan = checked(cli("plan", "--json").out)
    assert [line["type"] for line in plan if line["type"] not in {"diagnostic", "heartbeat"}] == ["version", "plan", "exit"]
    applied = checked(cli("apply", "--yes", "--json").out)
    assert {"version", "plan", "progress", "result", "exit"} <= {line["type"] for line in applied}
    outcomes = STRICT.evolve(schema={**STRICT.schema, "oneOf": [{"$ref": "#/$defs/outcomes"}]})
    outcomes.validate(next(line for line in applied if line["type"] == "result"))
    changed = LAB.replace("idleTimeout: 1h", "idleTimeout: 2h").replace("cpu: 4, memory: 16Gi", "cpu: 8, memory: 32Gi")
    cli.write("ws.yaml", changed)
    checked(cli("plan", "--restart", "ws/lab", "--json").out)
    checked(cli("stop", "lab", "--json").out)
    checked(cli("destroy", "--yes", "--json").out)


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (BLOCKED, ("plan",), ExitCode.BLOCKED),
        (BLOCKED, ("apply", "--yes"), ExitCode.BLOCKED),
        (LAB.replace("idleTimeout", "idleTimout"), ("plan",), ExitCode.ERROR),
        (LAB.replace("idleTimeout", "idleTimout"), ("validate",), ExitCode.ERROR),
        (LAB, ("validate",), ExitCode.DONE),
        (LAB, ("tick",), ExitCode.DONE),
        (LAB, ("comment",), ExitCode.DONE),
        (LAB, ("plan", "--nonsense"), ExitCode.USAGE),
        (LAB, ("plan", "--offline"), ExitCode.DONE),
        (LAB, ("get", "moons"), ExitCode.USAGE),
        (LAB, ("receipts",), ExitCode.DONE),
        (LAB, ("doctor",), ExitCode.DONE),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_every_command_keeps_it(cli: CommandLine, text: str, words: tuple[str, ...], code: ExitCode) -> None:
    cli.write("ws.yaml", text)
    ran = cli(*words, "--json")
    assert ran.err == ""
    last = checked(ran.out)[-1]
    if words[0] not in {"doctor", "get"}:
        assert last["code"] == int(code)


def test_the_examples_plans_keep_it() -> None:
    """The documents of plans/ are plans as a stream has them, without the type."""
    found = sorted((ROOT / "plans").rglob("*.json"))
    assert found
    for path in found:
        STRICT.validate({"type": "plan", **json.loads(path.read_text(encoding="utf-8"))})


def test_json_into_writes_the_stream_beside_the_words(cli: CommandLine) -> None:
    ran = cli("apply", "--yes", "--json-into", "stream.jsonl")
    assert ran.code is ExitCode.DONE
    assert "Plan: 2 to create." in ran.out
    lines = checked((cli.folder / "stream.jsonl").read_text(encoding="utf-8"))
    assert {"version", "plan", "progress", "result", "exit"} <= {line["type"] for line in lines}
    assert (cli.folder / "stream.jsonl").stat().st_mode & 0o777 == 0o600


def test_json_into_and_json_say_the_same(cli: CommandLine) -> None:
    ran = cli("--json-into=stream.jsonl", "validate", "--json")
    assert (cli.folder / "stream.jsonl").read_text(encoding="utf-8") == ran.out


def test_json_into_has_the_fault_of_a_command_that_could_not_begin(cli: CommandLine) -> None:
    ran = cli("plan", "--nonsense", "--json-into", "stream.jsonl")
    assert ran.code is ExitCode.USAGE
    lines = checked((cli.folder / "stream.jsonl").read_text(encoding="utf-8"))
    assert [line["type"] for line in lines] == ["version", "diagnostic", "exit"]


def test_json_into_a_place_that_is_none_is_a_usage_error_before_anything_is_done(cli: CommandLine) -> None:
    ran = cli("apply", "--yes", "--json-into", "nowhere/stream.jsonl")
    assert ran.code is ExitCode.USAGE
    assert "--json-into can't be written" in ran.err
    assert cli("sim", "calls", "--count").out == "0\n"


def test_json_into_a_full_disk_is_said_and_costs_no_work(cli: CommandLine) -> None:
    ran = cli("apply", "--yes", "--json-into", "/dev/full")
    assert ran.code is ExitCode.ERROR, "a stream somebody asked for and didn't get is no success"
    assert "error[OutputLost]" in ran.err and "/dev/full" in ran.err
    assert "Running" in cli("get", "ws").out


def test_the_words_after_two_dashes_are_another_program_s(cli: CommandLine) -> None:
    cli("ssh", "lab", "--", "tool", "--json-into", "stream.jsonl")
    assert not (cli.folder / "stream.jsonl").exists()
