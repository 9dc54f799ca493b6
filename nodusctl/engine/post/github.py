"""GitHub's REST API for comments of a pull request (docs.github.com/rest/issues/comments): a pull request is an issue there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nodusctl.base.clock import Wall
from nodusctl.base.exits import UserError
from nodusctl.engine.post.answers import PAGE, all_notes, number_of, own_name, refusal, text_of
from nodusctl.engine.post.forge import Note, Whoever
from nodusctl.engine.post.http import Answer, ForgeHttp

PUBLIC_API = "https://api.github.com"
_VERSION = "2022-11-28"
_TOKEN_FIX = (
    "Give the job the right to write comments, and the token to the command:\n"
    "  permissions: {pull-requests: write}\n  env: {GITHUB_TOKEN: '${{ github.token }}'}"
)
_PLACE_FIX = "Name the repository and the pull request:\n  nodusctl comment post --repo OWNER/NAME --number N"


@dataclass(frozen=True, slots=True)
class GitHubComments:
    """``repo`` is OWNER/NAME, ``number`` the pull request's."""

    http: ForgeHttp
    repo: str
    number: int

    def notes(self) -> Iterator[Note]:
        return all_notes(self.http, f"{self._issue}/comments?per_page={PAGE}", _note, self._refused)

    def whoever(self) -> Whoever:
        """A token of GitHub Actions may not ask; the comments it writes are a bot's."""
        return Whoever(name=own_name(self.http, "user", "login"))

    def create(self, body: str) -> Note:
        return self._read(self.http.send("POST", f"{self._issue}/comments", body={"body": body}, makes=True))

    def update(self, note: Note, body: str) -> Note | None:
        answer = self.http.send("PATCH", f"{self._repository}/issues/comments/{note.id}", body={"body": body})
        return None if answer.status in {404, 410} else self._read(answer)

    @property
    def _repository(self) -> str:
        return f"repos/{quote(self.repo)}"

    @property
    def _issue(self) -> str:
        return f"{self._repository}/issues/{self.number}"

    def _read(self, answer: Answer) -> Note:
        if not answer.is_good or not isinstance(answer.document, dict):
            raise self._refused(answer)
        return _note(answer.document)

    def _refused(self, answer: Answer) -> UserError:
        thing = f"pull request {self.number} of {self.repo}"
        return refusal(answer, forge="GitHub", thing=thing, token_fix=_TOKEN_FIX, place_fix=_PLACE_FIX)


def github_http(url: str, token: str, wall: Wall) -> ForgeHttp:
    """The API at ``url`` (empty: github.com)."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": _VERSION}
    return ForgeHttp("GitHub", url or PUBLIC_API, headers, wall)


def _note(document: Mapping[str, Any]) -> Note:
    user = document.get("user")
    kind = text_of(user, "type")
    return Note(
        id=number_of(document, "id"),
        body=text_of(document, "body"),
        url=text_of(document, "html_url"),
        author=text_of(user, "login"),
        is_bot=kind == "Bot" if kind else None,
    )
