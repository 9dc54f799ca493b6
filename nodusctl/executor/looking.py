"""Looks that are due at the same time are one call: a provider is asked about all of an instance's machines that are waited for.

That spares its rate limit as much as our time. A call for many must not let one spoil it for the others: where it brings anything but an
answer for each, or none within seconds, every machine is asked about by itself from then on, and a trouble stays with its object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nodusctl.ports.providers import LoadedProvider
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Done, Reply

TOGETHER_SECONDS = 5.0
"""How long a call for many may take before each machine is asked about by itself."""
_AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCall:
    """Asks about one machine; may be asked together with others of its instance."""

    loaded: LoadedProvider
    machine_id: str

    def __call__(self) -> Reply[Machine]:
        reply = self.loaded.calls.observe((self.machine_id,))
        return Done(reply.value[0]) if isinstance(reply, Done) else reply


@dataclass(frozen=True, slots=True)
class Known:
    """A look whose reply is there already: it takes no thread and no slot among the calls in flight."""

    reply: Reply[Machine]

    def __call__(self) -> Reply[Machine]:
        return self.reply


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one object. ``reply`` None: nothing that counts for it, ask about it alone."""

    uid: str
    number: int
    reply: Reply[Any] | None


class Together:
    """The looks of one pass, by instance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._looks: dict[int, list[tuple[str, LookCall]]] = {}

    def number_for(self, look: LookCall) -> int | None:
        """The call this look can still join; None where it needs a new one."""
        number = self._numbers.get(look.loaded.instance)
        return number if number is not None and len(self._looks[number]) < _AT_ONCE else None

    def add(self, number: int, uid: str, look: LookCall) -> None:
        """Ask about the object's machine in the call of that number."""
        self._numbers[look.loaded.instance] = number
        self._looks.setdefault(number, []).append((uid, look))

    def take(self) -> Iterator[tuple[int, Sequence[tuple[str, LookCall]]]]:
        """The calls to make; the next looks begin new ones."""
        looks, self._looks, self._numbers = self._looks, {}, {}
        yield from looks.items()


def asked_together(number: int, looks: Sequence[tuple[str, LookCall]]) -> tuple[Answer, ...]:
    """One answer for each look. One that is alone in its call gets whatever came."""
    try:
        replies = _replies(looks)
    except Exception:  # a plugin that raised has told us nothing of anybody
        replies = [None] * len(looks)
    return tuple(Answer(uid, number, reply) for (uid, _), reply in zip(looks, replies, strict=True))


def _replies(looks: Sequence[tuple[str, LookCall]]) -> Sequence[Reply[Machine] | None]:
    if len(looks) == 1:
        return [looks[0][1]()]
    reply = looks[0][1].loaded.calls.observe(tuple(look.machine_id for _, look in looks))
    if isinstance(reply, Done) and [machine.id for machine in reply.value] == [look.machine_id for _, look in looks]:
        return [Done(machine) for machine in reply.value]
    return [None] * len(looks)
