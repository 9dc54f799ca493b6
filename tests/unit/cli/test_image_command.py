"""``nodusctl image``: what can be built, and what is said where it can't. Building itself is tested with the machines that boot it."""

from __future__ import annotations

import json

from support.commands import CommandLine

from nodusctl.base.exits import ExitCode


def test_the_list_names_each_image_with_the_provider_that_makes_it(empty_cli: CommandLine) -> None:
    ran = empty_cli("image", "list")
    assert (ran.code, "nodus/workspace-cpu" in ran.out, "libvirt" in ran.out) == (ExitCode.DONE, True, True)
    (line,) = (line for line in map(json.loads, empty_cli("image", "list", "--json").out.splitlines()) if line["type"] == "result")
    assert [(one["name"], one["provider"]) for one in line["images"]] == [("nodus/workspace-cpu", "libvirt")]


def test_no_project_is_needed_to_be_told_what_is_wrong(empty_cli: CommandLine) -> None:
    ran = empty_cli("image", "build", "nodus/workspace-cpu", "--output", "nowhere/base.qcow2", "--package", "a package")
    assert ran.code is ExitCode.ERROR
    assert ("error[Invalid]" in ran.err, "error[NotFound]" in ran.err) == (True, True)
    assert f"mkdir -p {empty_cli.folder / 'nowhere'}" in ran.err


def test_the_output_must_be_named(empty_cli: CommandLine) -> None:
    assert empty_cli("image", "build", "nodus/workspace-cpu").code is ExitCode.USAGE
    assert "nodusctl image list" in empty_cli("image", "build", "team/own", "--output", ".").err
