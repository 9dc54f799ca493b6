"""GitLab's REST API for notes of a merge request (docs.gitlab.com/api/notes)."""

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

PUBLIC_API = "https://gitlab.com/api/v4"
_TOKEN_FIX = (
    "GitLab lets a job's own token (CI_JOB_TOKEN) write no notes. Make a project access token with the scope api and the role Reporter,\n"
    "and store it as a masked CI/CD variable:\n  GITLAB_TOKEN"
)
_PLACE_FIX = "Name the project (its id or path) and the merge request:\n  nodusctl comment post --repo GROUP/NAME --number N"


@dataclass(frozen=True, slots=True)
class GitLabNotes:
    """``project`` is its id or its path, ``number`` the merge request's number in it (iid)."""

    http: ForgeHttp
    project: str
    number: int

    def notes(self) -> Iterator[Note]:
        return all_notes(self.http, f"{self._notes}?per_page={PAGE}&sort=asc&order_by=created_at", self._note, self._refused)

    def whoever(self) -> Whoever:
        """A job's own token may not ask."""
        return Whoever(name=own_name(self.http, "user", "username"))

    def create(self, body: str) -> Note:
        return self._read(self.http.send("POST", self._notes, body={"body": body}, makes=True))

    def update(self, note: Note, body: str) -> Note | None:
        answer = self.http.send("PUT", f"{self._notes}/{note.id}", body={"body": body})
        return None if answer.status in {404, 410} else self._read(answer)

    @property
    def _notes(self) -> str:
        return f"projects/{quote(self.project, safe='')}/merge_requests/{self.number}/notes"

    def _read(self, answer: Answer) -> Note:
        if not answer.is_good or not isinstance(answer.document, dict):
            raise self._refused(answer)
        return self._note(answer.document)

    def _note(self, document: Mapping[str, Any]) -> Note:
        return Note(
            id=number_of(document, "id"),
            body=text_of(document, "body"),
            author=text_of(document.get("author"), "username"),
        )

    def _refused(self, answer: Answer) -> UserError:
        thing = f"merge request {self.number} of {self.project}"
        return refusal(answer, forge="GitLab", thing=thing, token_fix=_TOKEN_FIX, place_fix=_PLACE_FIX)


def gitlab_http(url: str, token: str, wall: Wall, *, is_job_token: bool) -> ForgeHttp:
    """The API at ``url`` (empty: gitlab.com)."""
    header = "JOB-TOKEN" if is_job_token else "PRIVATE-TOKEN"
    return ForgeHttp("GitLab", url or PUBLIC_API, {header: token, "Accept": "application/json"}, wall)
