"""Handing an address to whatever opens it here, and the one place that prints a token on purpose."""

from __future__ import annotations

import shutil
import subprocess
import sys

from nodusctl.cli.wiring import Wiring


def reveal(wiring: Wiring, text: str) -> None:
    """Print what the person asked for by name, past the redaction that everything else goes through."""
    wiring.surroundings.stdout.write(text + "\n")
    wiring.surroundings.stdout.flush()


def find_opener(wiring: Wiring) -> str:
    """The program that opens addresses on this desktop; "" where there is no desktop."""
    environment = wiring.surroundings.environment
    if sys.platform == "darwin":
        return "/usr/bin/open"
    has_desktop = bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
    return (shutil.which("xdg-open", path=environment.get("PATH")) or "") if has_desktop else ""


def run_opener(opener: str, url: str) -> None:
    """Start it; what it does then is between the person and the desktop."""
    subprocess.Popen([opener, url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
