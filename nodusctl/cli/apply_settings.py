"""The settings of commands that move machines: what an option says, else what the settings of this person and project say."""

from __future__ import annotations

from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import duration_of
from nodusctl.engine.applying import ApplySettings


def apply_settings(
    wiring: Wiring, *, parallelism: int | None = None, timeout: str = "", lock_timeout: str = "", skips_blocked: bool = False
) -> ApplySettings:
    """Asked for once the command knows its project. An option that wasn't given is None or empty."""
    settings = wiring.settings
    return ApplySettings(
        parallelism=parallelism or int(settings.text("parallelism")),
        timeout=duration_of("--timeout", timeout or settings.text("timeout")),
        lock_timeout=duration_of("--lock-timeout", lock_timeout or settings.text("lockTimeout")),
        skip_blocked=skips_blocked,
    )


def says_ci(wiring: Wiring, *, flag: bool) -> bool:
    """True where this run is CI's: by the option, else by NODUSCTL_CI or the user's settings."""
    return flag or wiring.person_settings.text("ci") in {"true", "1"}
