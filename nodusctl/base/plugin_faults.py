"""What plugins raised in this process, kept until the command ends, so that one report can be written of it.

A plugin's exception becomes a reply nobody got (plugins/safety.py): right for the objects, but it hides the plugin's own mistake. Faults
of the network and of files are the world's and aren't kept.
"""

from __future__ import annotations

import threading

_MOST = 5


class PluginFaults:
    """The first few, as tracebacks. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: list[str] = []

    def remember(self, fault: Exception) -> None:
        """Keep what ``fault`` tells, unless it is the world's."""
        if isinstance(fault, OSError):
            return
        import traceback

        with self._lock:
            if len(self._texts) < _MOST:
                self._texts.append("".join(traceback.format_exception(fault)))

    def take(self) -> tuple[str, ...]:
        """All that is kept, once."""
        with self._lock:
            texts, self._texts = tuple(self._texts), []
        return texts


PLUGIN_FAULTS = PluginFaults()
"""The process's: a plugin is called from many threads and by many use cases, and none of them ends the command."""
