"""What an answer that is no success means for a person, and reading lists of comments page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.engine.post.forge import Note
from nodusctl.engine.post.http import Answer, ForgeHttp

PAGE = 100
_MOST_PAGES = 100


def all_notes(
    http: ForgeHttp, url: str, read: Callable[[Mapping[str, Any]], Note], refused: Callable[[Answer], UserError]
) -> Iterator[Note]:
    """Every comment behind a paged list. ``url`` has a query already; at most 10,000 comments are looked through."""
    page, following = 1, f"{url}&page=1"
    for _ in range(_MOST_PAGES):
        answer = http.send("GET", following)
        if not answer.is_good or not isinstance(answer.document, list):
            raise refused(answer)
        yield from (read(one) for one in answer.document if isinstance(one, dict))
        page += 1
        if answer.next_url and http.same_server(answer.next_url):
            following = answer.next_url
        elif answer.next_url or answer.next_page or len(answer.document) >= PAGE:
            following = f"{url}&page={answer.next_page or page}"
        else:
            return


def own_name(http: ForgeHttp, url: str, name: str) -> str:
    """Whose token it is; empty where the forge doesn't say, which is no reason not to post."""
    try:
        answer = http.send("GET", url, tries=1)
    except UserError:
        return ""
    return text_of(answer.document, name) if answer.is_good else ""


def refusal(answer: Answer, *, forge: str, thing: str, token_fix: str, place_fix: str) -> UserError:
    """An answer that is no success, as an error. ``thing`` is the pull request as people call it."""
    said = answer.words
    if answer.status in {401, 403}:
        return UserError(error("ForgeUnauthorized", "The forge refused the token", f"{forge}: {thing}. {said}", token_fix))
    if answer.status in {404, 410} or 300 <= answer.status < 400:
        detail = f"{forge} knows no {thing}, or doesn't show it to this token, or it has moved. {said}"
        return UserError(error("ForgeRefused", "The forge doesn't find the pull request", detail, place_fix))
    if 200 <= answer.status < 300:
        return UserError(
            error("ForgeRefused", "The forge's answer can't be read", f"{forge}: {thing}. {said} It is no JSON of its API.", place_fix)
        )
    return UserError(error("ForgeRefused", "The forge refused the comment", f"{forge}: {thing}. {said}", place_fix))


def number_of(document: Mapping[str, Any], name: str) -> int:
    """A whole number of an answer; 0 where there is none."""
    value = document.get(name)
    return value if type(value) is int else 0


def text_of(document: Any, name: str) -> str:
    """A text of an answer; empty where there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""
