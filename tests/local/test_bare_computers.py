"""``nodusctl doctor`` on a computer without bubblewrap, without sshd, without user namespaces: each finding with the command that mends it.

The real program, in namespaces of its own where they are hidden from it.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.local_project import LocalProject

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces"
APART = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
CAN_HIDE = subprocess.run([*APART, f"mount --bind /dev/null /etc/hostname && {NO_NAMESPACES}"], capture_output=True, check=False)

pytestmark = [pytest.mark.local, pytest.mark.skipif(CAN_HIDE.returncode != 0, reason="user namespaces can't be used here")]


def without(*programs: str) -> str:
    """A command that hides programs, wherever they are."""
    places = {str(Path(found).resolve()) for name in programs if (found := shutil.which(name, path=SEARCHED))}
    return " && ".join(f"mount --bind /dev/null {shlex.quote(place)}" for place in sorted(places)) or "true"


@pytest.mark.parametrize(
    ("hide", "mends"),
    [
        (without("bwrap"), {"bubblewrap is not installed": "apt-get install bubblewrap"}),
        (without("sshd"), {"sshd is not installed": "apt-get install openssh-server"}),
        (NO_NAMESPACES, {"User namespaces can't be used": "sysctl -w "}),
        (
            without("bwrap", "sshd", "ssh"),
            {
                "bubblewrap is not installed": "apt-get install bubblewrap",
                "sshd is not installed": "apt-get install openssh-server",
                "The ssh client is not on PATH": "apt-get install openssh-client",
            },
        ),
    ],
    ids=["no bubblewrap", "no sshd", "no user namespaces", "none of it"],
)
def test_each_finding_has_the_command_that_mends_it(tmp_path: Path, hide: str, mends: dict[str, str]) -> None:
    project = LocalProject(tmp_path).write()
    ended = project.shell([*APART, f'{hide} && exec "$@"', "sh", *project.words("doctor", "--json")])
    assert ended.returncode == 1, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    findings = [line for line in lines if line["type"] == "diagnostic" and line["severity"] != "note"]
    assert all(re.search(r"\n +\S", one["fix"]) or one["fix"].startswith("pip ") for one in findings), findings
    fixes = {one["summary"]: one["fix"] for one in findings}
    for summary, command in mends.items():
        assert command in fixes[summary]
    (seen,) = [area["seen"] for line in lines if line["type"] == "result" for area in line["areas"] if area["name"] == "here"]
    has_sandboxes = not any(word in mends for word in ("bubblewrap is not installed", "User namespaces can't be used"))
    assert ("each machine in a sandbox" in seen) == has_sandboxes
