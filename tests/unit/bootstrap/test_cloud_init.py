"""The cloud-init form of a first-boot document: a boothook that any shell can run, with one secret in it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from nodusctl.bootstrap import cloud_init
from nodusctl.bootstrap.cloud_init import render_cloud_init, shared_in_cloud_init
from nodusctl.bootstrap.rendering import Boots
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.contract import BootForm

AGENT = Path(cloud_init.__file__).parent / "shell_agent" / "agent.sh"
PLAN = BootPlan(
    host_key="-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY-HOST\n-----END OPENSSH PRIVATE KEY-----\n",
    service_key="ssh-ed25519 AAAAservice nodus-service",
    person_keys=("ssh-ed25519 AAAAada it's ada", "ssh-ed25519 AAAAben"),
    tools=("SSH", "VSCode"),
    edge_seconds=3600,
    idle_timeout_seconds=None,
)
SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]


def sh(shell: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    words = (shell, "sh", *words) if shell == "busybox" else (shell, *words)
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=30)


def test_a_document_is_a_boothook_and_holds_the_bootstrap_host_key_once() -> None:
    text = Boots().render(BootForm.CLOUD_INIT, PLAN)
    assert text == render_cloud_init(PLAN), "equal plans give equal bytes"
    assert text.splitlines()[:2] == ["#cloud-boothook", "#!/bin/sh"]
    assert text.count("CANARY-HOST") == 1
    assert Boots().shared(BootForm.CLOUD_INIT) == shared_in_cloud_init()
    assert "CANARY" not in shared_in_cloud_init()
    assert text.count(shared_in_cloud_init()) == 1


def test_a_file_that_would_end_its_own_text_is_refused() -> None:
    with pytest.raises(ValueError, match="NODUS_END_OF_FILE"):
        render_cloud_init(BootPlan(**{**_fields(), "person_keys": ("ssh-ed25519 AAAA\nNODUS_END_OF_FILE\nreboot",)}))


@pytest.mark.parametrize("shell", SHELLS)
def test_every_posix_shell_can_read_it_and_writes_the_files_as_they_are(shell: str, tmp_path: Path) -> None:
    text = render_cloud_init(PLAN).partition("\n")[2].replace("/run/nodus", str(tmp_path / "nodus"))
    text = text.replace(
        f"exec sh {tmp_path}/nodus/agent.sh begin", f"cat {tmp_path}/nodus/etc/person_keys; . {tmp_path}/nodus/boot.env; echo $tools"
    )
    assert sh(shell, "-n", text=text).returncode == 0
    ran = sh(shell, text=text)
    assert ran.stdout.splitlines() == [*PLAN.person_keys, "SSH VSCode"], ran.stderr
    assert (tmp_path / "nodus" / "etc" / "host_key").read_text() == PLAN.host_key
    assert (tmp_path / "nodus" / "etc" / "host_key").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", ["", "plain", 'a "b" \\ c\n', "\ttab\r\n\x01\x1f", "Zoë ☃ 山田 𝄞", "'; reboot; '", "x\n\n"])
def test_text_goes_through_the_agents_json_both_ways(shell: str, text: str, tmp_path: Path) -> None:
    """What it reads from a request and writes into an answer is what json would."""
    request = json.dumps({"command": "secrets", "edge_seconds": 7, "files": {"/run/secrets/a": text, "b": "2"}})
    functions = AGENT.read_text().partition("# ---- the edge")[0].replace(". $R/boot.env", ":")
    script = functions + f'\nparsed "{tmp_path}" request || exit 1\nquoted <"{tmp_path}/c1"\n'
    ran = sh(shell, "-c", script, text=request)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == text
    assert ran.stdout == json.dumps(text, ensure_ascii=False), "byte for byte, because digests are over it"
    assert (tmp_path / "fields").read_text().splitlines() == ["command=secrets", "edge_seconds=7"]
    assert (tmp_path / "n1").read_text() == "/run/secrets/a"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("request_text", ["", "{", '{"a": 1', '{"command": "re\\u0000ady"}', '{"command": "x; reboot"}', "[1]", '{"A": 1}'])
def test_what_is_no_request_is_refused(shell: str, request_text: str, tmp_path: Path) -> None:
    functions = AGENT.read_text().partition("# ---- the edge")[0].replace(". $R/boot.env", ":")
    ran = sh(shell, "-c", functions + f'\nparsed "{tmp_path}" request\n', text=request_text)
    assert ran.returncode != 0 or (tmp_path / "error").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_an_environment_becomes_a_script_without_a_word_of_its_own(shell: str, tmp_path: Path) -> None:
    variables = {"KEY": "a'b\"c $(reboot) `x`\nnext", "PLAIN": "1"}
    functions = AGENT.read_text().partition("# ---- the edge")[0].replace(". $R/boot.env", ":")
    script = functions + f'\nparsed "{tmp_path}" environment || exit 1\n. "{tmp_path}/script"; printf "%s|%s" "$KEY" "$PLAIN"\n'
    ran = sh(shell, "-c", script, text=json.dumps(variables))
    assert ran.stdout == f"{variables['KEY']}|1", ran.stderr


def _fields() -> dict[str, object]:
    return {name: getattr(PLAN, name) for name in PLAN.__dataclass_fields__}
