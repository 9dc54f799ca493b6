"""The version of the lines of ``--json``: it changes when a type or a field changes its meaning, never when one is added."""

from __future__ import annotations

FORMAT_VERSION = 1
