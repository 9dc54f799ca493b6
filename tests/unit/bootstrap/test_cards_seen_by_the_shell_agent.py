"""What the agent in plain shell takes the vendors' tools to say: run by the shells guests have, against programs of the tools' names."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from nodusctl.bootstrap import cloud_init

AGENT = Path(cloud_init.__file__).parent / "shell_agent" / "agent.sh"
SHELLS = [words for words in (("sh",), ("busybox", "sh"), ("bash", "--posix")) if shutil.which(words[0])]
ROCM = "device,GPU use (%),GFX Activity\ncard0,3,118\ncard1,64,99\n"


@pytest.fixture(params=SHELLS, ids=" ".join)
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    words: tuple[str, ...] = request.param
    return words


def functions(*names: str) -> str:
    text = AGENT.read_text(encoding="utf-8")
    found = [re.search(rf"^{name}\(\) \{{.*?^\}}$", text, re.M | re.S) for name in names]
    return "\n".join(one.group() for one in found if one is not None)


def busy(shell: tuple[str, ...], folder: Path, *, looks: int = 1, **tools: str) -> str:
    """What each look takes for the use of the busiest card, where the tools are programs that run these lines of shell."""
    for name, lines in tools.items():
        program = folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        program.chmod(0o755)
    script = f"set -u\nS={folder}\n{functions('put', 'ask_cards', 'gpu_use')}\n" + 'ask_cards\necho "busy=$busy"\n' * looks
    ran = subprocess.run([*shell, "-c", script], env={"PATH": f"{folder}:/usr/bin:/bin"}, check=True, capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.stdout.strip().replace("busy=", "")


def said(text: str) -> str:
    return f"cat <<'END'\n{text}END"


def test_the_busiest_card_counts(shell: tuple[str, ...], tmp_path: Path) -> None:
    assert busy(shell, tmp_path, nvidia_smi=said("0\n97\n12\n")) == "97"


def test_amd_cards_count_alone_and_beside_others(shell: tuple[str, ...], tmp_path: Path) -> None:
    assert busy(shell, tmp_path, rocm_smi=said(ROCM)) == "64"
    assert busy(shell, tmp_path, nvidia_smi=said("70\n"), rocm_smi=said(ROCM)) == "70"


def test_a_card_that_does_not_say_its_use_is_no_use(shell: tuple[str, ...], tmp_path: Path) -> None:
    assert busy(shell, tmp_path, nvidia_smi=said("[N/A]\n")) == ""
    assert busy(shell, tmp_path, nvidia_smi=said("[N/A]\n9\n")) == "9"


def test_without_tools_and_with_one_that_fails_nothing_is_busy(shell: tuple[str, ...], tmp_path: Path) -> None:
    assert busy(shell, tmp_path) == ""
    assert busy(shell, tmp_path, nvidia_smi='echo "Failed to initialize NVML"; exit 9') == ""


def test_a_tool_that_hangs_holds_up_no_look_and_its_late_answer_counts_for_the_next(shell: tuple[str, ...], tmp_path: Path) -> None:
    asked, go, answer = tmp_path / "asked", tmp_path / "go", "88\n"
    hangs = f"echo once >>{asked}\nwhile [ ! -e {go} ]; do /bin/sleep 0.1; done\n{said(answer)}"
    try:
        assert busy(shell, tmp_path, looks=2, nvidia_smi=hangs, sleep="exec /bin/sleep 0.01").split() == []
        for _ in range(100):
            if asked.exists() and asked.read_text():
                break
            time.sleep(0.1)
        assert asked.read_text() == "once\n", "it was asked again while it hung"
    finally:
        go.touch()
    for _ in range(100):
        if (tmp_path / "cards").exists() and not (tmp_path / "asking").exists():
            break
        time.sleep(0.1)
    assert busy(shell, tmp_path) == "88"
