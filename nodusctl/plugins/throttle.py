"""One token bucket an account, shared by all processes of this user on this computer (rule R13); the platform's own Retry-After goes first.

The surprise: a bucket is one moment in a small file, the earliest at which the next call may go out. Taking a token moves that moment on
and sleeps until it; a call that would have to sleep long is refused with the time to come back, so that it holds no thread and is no
unknown outcome. Where the file can't be had the call goes out: a limit of the platform's is the platform's to enforce.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nodusctl.base.canonical import digest
from nodusctl.base.clock import Wall
from nodusctl.base.durations import format_duration
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.contract import Description, RateLimit
from nodusctl.provider.replies import Refused, Reply, Scope

LONGEST = timedelta(seconds=10)
"""A call sleeps this long for its turn; for a longer wait it is refused."""
CALLS = frozenset(
    {
        "offers",
        "launch",
        "find",
        "observe",
        "release",
        "list",
        "create_disk",
        "attach",
        "detach",
        "save",
        "restore",
        "grow",
        "delete_disk",
        "observe_disks",
        "delete_revision",
        "verify_revision",
    }
)
"""What goes to the platform's interface. Questions to a machine's agent don't."""
_TOO_MANY = "TooManyRequests"
_LONGEST_PATIENCE = timedelta(hours=1)
_MOST_BYTES = 65536


class Throttle:
    """The buckets of one account. Safe between threads and processes."""

    def __init__(self, folder: Path, description: Description, wall: Wall) -> None:
        self._path = folder / f"{digest([description.type, description.account])[:32]}.json"
        self._limits: Sequence[RateLimit] = description.rate_limits
        self._wall = wall

    def take(self, operation: str) -> Refused | None:
        """Sleep until the turn of a call; a refusal where that is too far away, and then no token is taken."""
        limits = self._limits_of(operation)
        with self._moments() as moments:
            now = self._wall.now()
            asked_for = {name: _patience(moments, name, now) for name in _names(operation, limits)}
            stands = {limit: _stand(moments, limit, now) for limit in limits}
            ready = max(now, *asked_for.values(), *(stand - limit.every * (limit.burst - 1) for limit, stand in stands.items()))
            moments.update({f"patience {name}": format_time(until) for name, until in asked_for.items() if until > now})
            moments.update({_name(limit): format_time(stand) for limit, stand in stands.items()})
            if ready - now > LONGEST:
                return _refusal(ready - now)
            moments.update({_name(limit): format_time(max(stand, ready) + limit.every) for limit, stand in stands.items()})
        if ready > now:
            self._wall.sleep((ready - now).total_seconds())
        return None

    def heard(self, operation: str, reply: object) -> None:
        """Keep the platform's own word of when to come back; it speaks for this operation and those that share a limit with it."""
        if not isinstance(reply, Refused) or reply.code != _TOO_MANY or reply.retry_after is None:
            return
        with self._moments() as moments:
            until = format_time(self._wall.now() + min(reply.retry_after, _LONGEST_PATIENCE))
            moments.update({f"patience {name}": until for name in _names(operation, self._limits_of(operation))})

    def _limits_of(self, operation: str) -> tuple[RateLimit, ...]:
        return tuple(limit for limit in self._limits if not limit.operations or operation in limit.operations)

    @contextmanager
    def _moments(self) -> Iterator[dict[str, str]]:
        """What is stored, locked meanwhile and written back; what can't be read counts as nothing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            held = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield {}
            return
        try:
            moments = _locked(held)
            yield moments
            with suppress(OSError):
                os.ftruncate(held, 0)
                os.pwrite(held, json.dumps(moments).encode(), 0)
        finally:
            os.close(held)


class Paced:
    """A plugin whose calls each wait for their turn; everything else of it is as it was."""

    def __init__(self, plugin: Any, throttle: Throttle) -> None:
        self._plugin, self._throttle = plugin, throttle

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._plugin, name)
        return self._in_turn(name, found) if name in CALLS else found

    def _in_turn(self, name: str, call: Callable[..., Reply[Any]]) -> Callable[..., Reply[Any]]:
        def in_turn(*arguments: Any) -> Reply[Any]:
            refused = self._throttle.take(name)
            if refused is not None:
                return refused
            reply = call(*arguments)
            self._throttle.heard(name, reply)
            return reply

        return in_turn


def _refusal(wait: timedelta) -> Refused:
    seconds = timedelta(seconds=-(-wait // timedelta(seconds=1)))
    message = f"this account has had as many calls as it takes; the next may go out in {format_duration(seconds)}"
    return Refused(code=_TOO_MANY, scope=Scope.ACCOUNT, message=message, retry_after=seconds)


def _name(limit: RateLimit) -> str:
    return f"{','.join(sorted(limit.operations)) or '*'} {limit.every.total_seconds():g}"


def _names(operation: str, limits: Sequence[RateLimit]) -> tuple[str, ...]:
    return (operation, *map(_name, limits))


def _stand(moments: dict[str, str], limit: RateLimit, now: datetime) -> datetime:
    """Where the bucket stands. Never further ahead than takers can have moved it: a clock that was set back stops nobody for long."""
    return min(max(_moment(moments, _name(limit), now), now), now + limit.every * limit.burst + LONGEST)


def _patience(moments: dict[str, str], name: str, now: datetime) -> datetime:
    return min(_moment(moments, f"patience {name}", now), now + _LONGEST_PATIENCE)


def _moment(moments: dict[str, str], name: str, otherwise: datetime) -> datetime:
    try:
        return parse_time(moments[name]) if name in moments else otherwise
    except ValueError:
        return otherwise


def _locked(held: int) -> dict[str, str]:
    """What the file says once nobody else is at it; closing it lets the next one in."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        return _read(os.pread(held, _MOST_BYTES, 0).decode(errors="replace"))
    except OSError:
        return {}


def _read(text: str) -> dict[str, str]:
    try:
        read = json.loads(text) if text else {}
    except ValueError:
        return {}
    return {str(name): str(moment) for name, moment in read.items()} if isinstance(read, dict) else {}
