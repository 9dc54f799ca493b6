"""One redaction for every renderer, log and stored text.

Two nets: the exact secret values this process has touched (and their usual encodings), and the shapes of well-known
tokens, for the secret we never saw but a provider's error text echoes.
"""

from __future__ import annotations

import base64
import re
import threading
from urllib.parse import quote

MARK = "[redacted]"
_SHAPES = re.compile(
    r"(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|nodus-secret-[a-z2-7]{40,}|xox[abpr]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{6,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))",
    re.DOTALL,
)
_SECRET_WORDS = "TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|API_KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIALS?"
_SECRET_NAME = re.compile(rf"(?:^|_)(?:{_SECRET_WORDS})(?:_|$)|(?:TOKEN|SECRET|PASSWORD|APIKEY)$", re.IGNORECASE)
_SHORTEST = 4


class Redactor:
    """Remembers secret values and removes them from text. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._is_stale = False

    def remember(self, value: str) -> None:
        """From now on ``value`` and its base64 and URL spellings are removed; values under 4 characters can't be."""
        spellings = {value, *(line for line in value.splitlines() if len(line) >= 8)}
        raw = value.encode()
        spellings |= {base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("="), quote(value, safe="")}
        with self._lock:
            self._values |= {s for s in spellings if len(s) >= _SHORTEST}
            self._is_stale = True

    def forget(self) -> None:
        """Start over, as a process does that is about to work for somebody else."""
        with self._lock:
            self._values, self._pattern, self._is_stale = set(), None, False

    def clean(self, text: str) -> str:
        """``text`` without remembered values and without anything shaped like a known token."""
        pattern = self._current()
        return _SHAPES.sub(MARK, pattern.sub(MARK, text) if pattern is not None else text)

    def _current(self) -> re.Pattern[str] | None:
        """One pattern for all values, longest first, made when it is next needed."""
        with self._lock:
            if self._is_stale:
                longest_first = sorted(self._values, key=len, reverse=True)
                self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
                self._is_stale = False
            return self._pattern


REDACTOR = Redactor()
"""The process's redactor: the one place remembered values live, so that no renderer can be built without it."""


def clean(text: str) -> str:
    """``text`` as it may be printed or stored."""
    return REDACTOR.clean(text)


def one_line(text: str) -> str:
    """``text`` as it may be printed, on one line. Cleaned first: a secret of several lines or with wide gaps isn't known afterwards."""
    return " ".join(REDACTOR.clean(text).split())


def looks_secret(name: str, value: str) -> bool:
    """True if an environment variable's name or value suggests a secret (``HF_TOKEN``, ``hf_…``)."""
    return bool(_SECRET_NAME.search(name)) or bool(_SHAPES.search(value))
