"""A forge on this computer: a real HTTP server with the part of GitHub's and GitLab's API that comments need, and troubles on order.

It pages as they do, checks tokens, refuses bodies that are too long, and writes down every request, so that a test can say what went out.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_COMMENTS = re.compile(r"/repos/(?P<repo>[^/]+/[^/]+)/issues/(?P<number>\d+)/comments\Z")
_COMMENT = re.compile(r"/repos/(?P<repo>[^/]+/[^/]+)/issues/comments/(?P<id>\d+)\Z")
_NOTES = re.compile(r"/projects/(?P<repo>[^/]+)/merge_requests/(?P<number>\d+)/notes\Z")
_NOTE = re.compile(r"/projects/(?P<repo>[^/]+)/merge_requests/(?P<number>\d+)/notes/(?P<id>\d+)\Z")


@dataclass
class Stored:
    """One comment as the forge keeps it."""

    id: int
    body: str
    author: str
    kind: str = "Bot"


@dataclass
class Trouble:
    """What the next request of a method meets. ``does_it``: the request is carried out all the same, and only its answer is this."""

    method: str
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    does_it: bool = False
    drops: bool = False
    words: str = "trouble on order"


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One request for comments. ``owner`` is the token's name for what it writes."""

    method: str
    path: str
    query: dict[str, str]
    owner: str
    body: dict[str, Any]
    id: int
    is_gitlab: bool


@dataclass
class ForgeServer:
    """``most`` is the longest body it takes. ``owners`` maps tokens to the names comments get; a name of None may not ask who it is."""

    url: str = ""
    repo: str = "acme/lab"
    number: int = 7
    most: int = 65_536
    owners: dict[str, str | None] = field(default_factory=lambda: {"good-token-1234": None})
    comments: list[Stored] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def says(self, body: str, *, author: str = "someone", kind: str = "User") -> Stored:
        """Somebody comments."""
        stored = Stored(id=1000 + len(self.comments), body=body, author=author, kind=kind)
        self.comments.append(stored)
        return stored

    def methods(self) -> list[str]:
        """The methods of all requests, in order."""
        return [method for method, _ in self.requests]

    # What the handler asks

    def answer(self, method: str, target: str, token: str, body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if token not in self.owners:
            return 401, {"message": "Bad credentials"}, {}
        if parts.path == "/user":
            name = self.owners[token]
            return (
                (403, {"message": "Resource not accessible by integration"}, {})
                if name is None
                else (200, {"login": name, "username": name}, {})
            )
        for pattern, act in (
            (_COMMENTS, self._list_or_make),
            (_COMMENT, self._change),
            (_NOTES, self._list_or_make),
            (_NOTE, self._change),
        ):
            found = pattern.match(parts.path)
            if found and unquote(found["repo"]) == self.repo and int(found.groupdict().get("number") or self.number) == self.number:
                asked = _Asked(
                    method=method,
                    path=parts.path,
                    query=query,
                    owner=self.owners[token] or "robot[bot]",
                    body=body,
                    id=int(found.groupdict().get("id") or 0),
                    is_gitlab=pattern in {_NOTES, _NOTE},
                )
                return act(asked)
        return 404, {"message": "Not Found"}, {}

    def _list_or_make(self, asked: _Asked) -> tuple[int, Any, dict[str, str]]:
        if asked.method == "POST":
            if len(asked.body.get("body", "")) > self.most:
                return 422, {"message": "Validation Failed: body is too long"}, {}
            made = Stored(id=1000 + len(self.comments), body=asked.body["body"], author=asked.owner)
            self.comments.append(made)
            return 201, self._shown(made, is_gitlab=asked.is_gitlab), {}
        size, page = int(asked.query.get("per_page", "30")), int(asked.query.get("page", "1"))
        there = [self._shown(one, is_gitlab=asked.is_gitlab) for one in self.comments[(page - 1) * size : page * size]]
        has_more = page * size < len(self.comments)
        if asked.is_gitlab:
            return 200, there, {"X-Next-Page": str(page + 1) if has_more else ""}
        link = f'<{self.url}{asked.path}?per_page={size}&page={page + 1}>; rel="next"'
        return 200, there, {"Link": link} if has_more else {}

    def _change(self, asked: _Asked) -> tuple[int, Any, dict[str, str]]:
        one = next((one for one in self.comments if one.id == asked.id), None)
        if one is None or asked.method != ("PUT" if asked.is_gitlab else "PATCH"):
            return 404, {"message": "Not Found"}, {}
        one.body = asked.body["body"]
        return 200, self._shown(one, is_gitlab=asked.is_gitlab), {}

    def _shown(self, one: Stored, *, is_gitlab: bool) -> dict[str, Any]:
        if is_gitlab:
            return {"id": one.id, "body": one.body, "author": {"username": one.author}}
        url = f"https://forge.example/{self.repo}/pull/{self.number}#issuecomment-{one.id}"
        return {"id": one.id, "body": one.body, "html_url": url, "user": {"login": one.author, "type": one.kind}}


@contextmanager
def running_forge(**settings: Any) -> Iterator[ForgeServer]:
    """A forge that listens while the block runs."""
    forge = ForgeServer(**settings)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            forge.requests.append((self.command, self.path))
            forge.headers.append({name.lower(): value for name, value in self.headers.items()})
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else {}
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            token = token or self.headers.get("PRIVATE-TOKEN") or self.headers.get("JOB-TOKEN") or ""
            trouble = next((one for one in forge.troubles if one.method == self.command), None)
            if trouble is not None:
                forge.troubles.remove(trouble)
                if trouble.does_it:
                    forge.answer(self.command, self.path, token, body)
                if trouble.drops:
                    self.close_connection = True
                    self.connection.close()
                    return
                self._say(trouble.status, {"message": trouble.words}, trouble.headers)
                return
            self._say(*forge.answer(self.command, self.path, token, body))

        def _say(self, status: int, document: Any, headers: dict[str, str]) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

        do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forge.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
