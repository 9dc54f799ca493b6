"""The texts of a systemd user timer and its service for a project.

The surprise: ``KillMode=process``. A pass starts machines, and on this computer they are processes; systemd would otherwise end them
together with the pass that started them.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

from nodusctl.engine.cron_command import TickCommand

_MINUTE = timedelta(minutes=1)


def unit_name(folder: Path) -> str:
    """One a project; the folder stands in the unit itself."""
    return f"nodusctl-tick-{hashlib.sha256(str(folder).encode(errors='surrogateescape')).hexdigest()[:12]}"


def service_text(command: TickCommand) -> str:
    """The service that makes one pass."""
    settings = [f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(command.variables.items())]
    return "\n".join(
        [
            "# nodusctl cron install wrote this file; nodusctl cron remove removes it.",
            "[Unit]",
            f"Description=nodusctl tick in {_escaped(str(command.folder))}",
            "",
            "[Service]",
            "Type=oneshot",
            "# The machines that a pass starts on this computer outlive it.",
            "KillMode=process",
            *settings,
            f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in command.words())}",
            "",
        ]
    )


def timer_text(folder: Path, every: timedelta) -> str:
    """The timer. What was missed while the computer slept is made up for by one pass."""
    minutes = every // _MINUTE
    calendar = "hourly" if minutes == 60 else f"*:0/{minutes}"
    return "\n".join(
        [
            "# nodusctl cron install wrote this file; nodusctl cron remove removes it.",
            "[Unit]",
            f"Description=nodusctl tick in {_escaped(str(folder))}",
            "",
            "[Timer]",
            f"OnCalendar={calendar}",
            "AccuracySec=1s",
            "Persistent=true",
            "",
            "[Install]",
            "WantedBy=timers.target",
            "",
        ]
    )


def _quoted(text: str) -> str:
    inner = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
