"""URLs that may hold a password, as they may be shown: the password is no part of where something is.

The surprise: a password may stand in two places, before the host and among the parameters; and one with a slash in it, which should have
been written ``%2F``, makes an address that no parser takes. What can't be read is hidden as far as a password may reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

HIDDEN = "***"
_AUTHORITY = re.compile(r"[a-z0-9+]+://([^/?#]*)")
_HOST_AND_PORT = re.compile(r"(\[[^]]*\]|[^:]*)(:[0-9]*)?\Z")
_PARAMETER = re.compile(r"[?&](?:ssl)?password=([^&#]*)")


def without_password(url: str) -> str:
    """``url`` with three asterisks for each password in it; as it is where it holds none."""
    shown, at = "", 0
    for start, end in _passwords(url):
        shown += url[at:start] + HIDDEN
        at = end
    return shown + url[at:]


def passwords_of(url: str) -> tuple[str, ...]:
    """Every password in ``url``, as it is written and as it is meant."""
    written = [url[start:end] for start, end in _passwords(url)]
    return tuple(dict.fromkeys(text for one in written for text in (one, unquote(one)) if text))


def _passwords(url: str) -> Iterator[tuple[int, int]]:
    """Where each password begins and ends, in order."""
    found = _AUTHORITY.match(url)
    if found is None:
        return
    authority, start, after = found[1], found.start(1), found.end(1)
    if "@" in authority:
        end = start + authority.rindex("@")
    elif _at_sign_is_misplaced(authority, url[after:]):
        end = after = url.rindex("@")
    else:
        end = start
    colon = url.find(":", start, end)
    if colon >= 0:
        yield colon + 1, end
    yield from (one.span(1) for one in _PARAMETER.finditer(url, after))


def _at_sign_is_misplaced(authority: str, rest: str) -> bool:
    """True where what should be host and port is the first part of a password, and ``rest`` holds its end."""
    path = re.split(r"[?#]", rest, maxsplit=1)[0]
    return "@" in path or ("@" in rest and not _HOST_AND_PORT.match(authority))
