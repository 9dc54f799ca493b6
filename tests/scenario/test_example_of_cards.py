"""``examples/gpu-local`` on a computer with two L4 cards, one of them in use by a program of somebody else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.commands import CommandLine
from support.programs import equipped

from nodusctl.base.exits import ExitCode

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpu-local"
RECORDED = Path(__file__).parents[1] / "unit" / "local" / "recorded"
NVIDIA_SMI = f"""#!/bin/sh
case "$1" in --query-gpu*) head -n 2 '{RECORDED}/nvidia-smi-gpus-2xl4-1xh100.csv';; *) cat '{RECORDED}/nvidia-smi-apps.csv';; esac
"""


@pytest.fixture
def here(empty_cli: CommandLine, tmp_path: Path) -> CommandLine:
    for path in EXAMPLE.glob("*.yaml"):
        shutil.copy(path, empty_cli.folder)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(NVIDIA_SMI)
    (tools / "nvidia-smi").chmod(0o755)
    settings = empty_cli.folder / "nodusctl.yaml"
    settings.write_text(settings.read_text().replace("type: local,", f"type: local, isolation: 'off', programs: ['{tools}'],"))
    return equipped(empty_cli, tmp_path / "programs")


def test_a_free_card_is_planned_at_the_rate_of_its_power(here: CommandLine) -> None:
    ran = here("plan")
    assert ran.code is ExitCode.DONE
    assert "workspace/bench  starts a machine, $0.195/h" in ran.out
    assert "l4-24g-x1-local" in ran.out
    assert "not isolation" in ran.out


def test_where_too_few_are_free_the_holder_is_named(here: CommandLine) -> None:
    document = here.folder / "bench.yaml"
    document.write_text(document.read_text().replace("gpu: {count: 1}", "gpu: {count: 2}"))
    ran = here("plan")
    assert ran.code is ExitCode.BLOCKED
    assert "blocked[DeviceBusy] workspace/bench" in ran.out
    assert "2 GPUs needed, 1 free; GPU-5b0c9a8e-2f1d-5f44-8d0e-6a2b7c9d3e22 held by process 48213 (python3.11)" in ran.out
