"""One forge's HTTP API: requests with bounded patience, answers as values, and what went wrong as something a person can mend.

Limits and overload are waited out as the forge asks, a few times and two minutes in all. A request that makes something is sent again only
where the forge said that it refused it; where the answer was lost, the caller has to look first (Unsure). Redirects are not followed: they
would carry the token elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

import nodusctl
from nodusctl.base.clock import Wall
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import one_line
from nodusctl.engine.post.forge import Unsure

MOST_TRIES = 5
PATIENCE_SECONDS = 120.0
"""How long all waiting for one forge may take."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 30.0
_BLIND_LIMIT_SECONDS = 60.0
"""How long to wait for a limit that doesn't say how long (docs.github.com, "Rate limits for the REST API")."""
_OVERLOADED = frozenset({500, 502, 503, 504})
_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A forge's last word. ``document`` is its JSON, None where it sent none; ``next_url`` the next page, empty on the last."""

    status: int
    document: Any
    words: str
    next_url: str = ""
    next_page: str = ""

    @property
    def is_good(self) -> bool:
        """True for a success with JSON in it."""
        return 200 <= self.status < 300 and self.document is not None


@dataclass
class ForgeHttp:
    """``name`` is the forge's, for messages; ``url`` the root of its API. Its patience is spent over all requests."""

    name: str
    url: str
    headers: Mapping[str, str]
    wall: Wall
    _left: float = field(default=PATIENCE_SECONDS, init=False)
    _client: httpx.Client | None = field(default=None, init=False)

    def send(self, method: str, url: str, *, body: Mapping[str, str] | None = None, makes: bool = False, tries: int = MOST_TRIES) -> Answer:
        """The answer to one request; ``url`` is below the root, or whole and on the same server.

        UserError where the server can't be reached or goes on refusing for load. Unsure where ``makes`` and the answer was lost.
        """
        said = ""
        for attempt in range(tries):
            is_last = attempt == tries - 1
            try:
                response = self._open().request(method, self._whole(url), json=body)
            except httpx.HTTPError as fault:
                if makes and not isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout):
                    raise Unsure from fault
                said = f"{type(fault).__name__}: {fault}"
                self._wait(0.0 if is_last else _backoff(attempt), said)
                continue
            is_limit = _is_limited(response)
            if not is_limit and response.status_code not in _OVERLOADED:
                return _answer(response)
            said = _said(response)
            asked = _asked_wait(response, self.wall.now())
            blind = _BLIND_LIMIT_SECONDS if is_limit else _backoff(attempt)
            self._wait(0.0 if is_last else blind if asked is None else asked, said, is_limit=is_limit)
            if makes and not is_limit:
                raise Unsure
        raise UserError(self._unreachable(f"It was tried {tries} times. {said}"))

    def close(self) -> None:
        """Give the connection back."""
        if self._client is not None:
            self._client.close()

    def same_server(self, url: str) -> bool:
        """True for a URL the token may be sent to."""
        ours, theirs = httpx.URL(self.url), httpx.URL(url)
        return (ours.scheme, ours.host, ours.port) == (theirs.scheme, theirs.host, theirs.port)

    def _open(self) -> httpx.Client:
        if self._client is None:
            agent = {"User-Agent": f"nodusctl/{nodusctl.__version__}"}
            self._client = httpx.Client(
                headers={**agent, **self.headers}, timeout=httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS), follow_redirects=False
            )
        return self._client

    def _whole(self, url: str) -> str:
        return url if "://" in url else f"{self.url.rstrip('/')}/{url.lstrip('/')}"

    def _wait(self, seconds: float, said: str, *, is_limit: bool = False) -> None:
        """Sleep, or give up where that would take more than is left of the patience."""
        if seconds > self._left:
            raise UserError(self._limited(seconds, said) if is_limit else self._unreachable(said))
        self._left -= seconds
        if seconds:
            self.wall.sleep(seconds)

    def _unreachable(self, said: str) -> Diagnostic:
        return error(
            "ForgeUnreachable",
            "The forge can't be reached",
            f"{self.name} at {self.url} gave no answer that can be used. {said}",
            "Check the address and the network, then run it again; what did arrive is found and replaced:\n  nodusctl comment post",
        )

    def _limited(self, seconds: float, said: str) -> Diagnostic:
        return error(
            "ForgeBusy",
            "The forge asks for fewer requests",
            f"{self.name} wants no further request for {round(seconds)} seconds; at most {round(PATIENCE_SECONDS)} are waited. {said}",
            "Run it again after that time:\n  nodusctl comment post",
        )


def _answer(response: httpx.Response) -> Answer:
    try:
        document = response.json()
    except ValueError:
        document = None
    following = response.links.get("next", {}).get("url", "")
    return Answer(
        status=response.status_code,
        document=document,
        words=_said(response),
        next_url=following,
        next_page=response.headers.get("x-next-page", ""),
    )


def _is_limited(response: httpx.Response) -> bool:
    """429, or GitHub's 403 with a sign that it is for the number of requests."""
    if response.status_code == 429:
        return True
    signs = "retry-after" in response.headers or response.headers.get("x-ratelimit-remaining") == "0"
    return response.status_code == 403 and (signs or "rate limit" in response.text.lower())


def _asked_wait(response: httpx.Response, now: datetime) -> float | None:
    """Seconds the forge asks for; None where it doesn't say."""
    headers = response.headers
    if after := headers.get("retry-after", ""):
        return _seconds(after, now)
    for remaining, reset in (("x-ratelimit-remaining", "x-ratelimit-reset"), ("ratelimit-remaining", "ratelimit-reset")):
        if headers.get(remaining) == "0" and headers.get(reset, "").isdigit():
            return max(int(headers[reset]) - now.timestamp(), 0.0) + 1.0
    return None


def _seconds(text: str, now: datetime) -> float | None:
    """Retry-After: seconds, or a date (RFC 9110, 10.2.3)."""
    if text.strip().isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds(), 0.0)


def _backoff(attempt: int) -> float:
    return float(2**attempt)


def _said(response: httpx.Response) -> str:
    """The status, and the forge's own message where it is short and readable."""
    try:
        document = response.json()
    except ValueError:
        document = None
    message = document.get("message") or document.get("error") if isinstance(document, dict) else None
    words = one_line(str(message))[:_LONGEST_WORDS] if message else ""
    return f"It said {response.status_code} {response.reason_phrase}" + (f": {words}." if words else ".")
