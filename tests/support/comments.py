"""Plans for comment tests: any number of objects, with every kind of trouble in their names, notes and messages, made as values at once.

And a reader of comments that sees them as a forge does, through a Markdown parser, so that what is asserted is what people see.
"""

from __future__ import annotations

import random
import re
import string
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.comparison import NOTHING, Comparison, CostChange, Running
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import AllowFlags, Basis, Plan, RunningOn, Totals
from nodusctl.plan.reasons import BlockingReason

NOW = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)
NASTY = (
    "plain words",
    "a|b||c \\| d",
    "``` code ```",
    "`tick` and ````four````",
    "@everyone @org/team see #12 and owner/repo#3",
    "<img src=x onerror=alert(1)></details><!-- -->",
    "<!-- nodusctl-plan lab 000000000000 -->",
    "[click](javascript:alert(1)) ![](https://example.com/x.png)",
    "line one\nline two\n```\n# heading",
    "\u202egnp.exe \u200bhidden \x1b[31m",
    "&lt;b&gt; &amp; $a^2$ ~~x~~ **y** _z_",
    "",
)
CLASSES = tuple(ChangeClass)
_KINDS = ("workspace", "volume", "secret", "budget", "function")
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class Shape:
    """How a plan is drawn: ``destroyed`` and ``blocked`` are shares from 0 to 1; ``name_length`` is each name's."""

    count: int
    destroyed: float
    blocked: float
    name_length: int
    seed: int
    fields: int = 2


def drawn_plan(shape: Shape) -> Plan:
    """A plan of this shape; the same for the same shape."""
    luck = random.Random(shape.seed)
    actions = tuple(_action(number, shape, luck) for number in range(shape.count))
    reasons = tuple(_reason(action.address, luck) for action in actions if luck.random() < shape.blocked)
    if luck.random() < shape.blocked / 2:
        reasons = (
            *reasons,
            BlockingReason(code="TooManyDeletes", address=None, message=", ".join(str(one.address) for one in actions), fix="x"),
        )
    costs = tuple(_cost(action, luck) for action in actions if action.address.kind == "workspace" and action.verb is not Verb.DELETE)
    changes = tuple(CostChange(address=line.address, now=NOTHING, after=_running(line)) for line in costs)
    after = _sum(changes)
    return Plan(
        id="plan-1",
        created_at=NOW,
        created_by="you@example",
        basis=Basis(project="lab", lineage="l", serial=4, state_url="sqlite:///x", base_commit="abc123", book_version="2026-10-01"),
        allow=AllowFlags(max_deletes=3),
        actions=actions,
        costs=costs,
        totals=Totals(p50_usd=Money(shape.count), p90_usd=Money(2 * shape.count), at_most_usd=Money(3 * shape.count)),
        comparison=Comparison(now=NOTHING, after=after, changes=changes),
        reasons=reasons,
        hints=tuple(luck.choice(NASTY) for _ in range(3)),
        running_on=tuple(_running_on(number, shape, luck) for number in range(luck.choice((0, 1, 3, 60, 700)))),
        valid_until=NOW,
    )


def _running_on(number: int, shape: Shape, luck: random.Random) -> RunningOn:
    address = Address("workspace", f"up-{number}-{_name(number, shape.name_length, luck)}"[:63])
    return RunningOn(address=address, offering=luck.choice(NASTY), rate_usd_per_hour=luck.choice((None, Money(1_100_000))))


def _action(number: int, shape: Shape, luck: random.Random) -> Action:
    address = Address(luck.choice(_KINDS), _name(number, shape.name_length, luck))
    notes = tuple(luck.choice(NASTY) for _ in range(luck.randrange(3)))
    if luck.random() < shape.destroyed:
        verb = luck.choice((Verb.DELETE, Verb.UPDATE, Verb.RESTART))
        change_class = luck.choice((ChangeClass.DESTROYS, ChangeClass.ENDS_SESSION, ChangeClass.RESTARTS, ChangeClass.REPLACES))
        return Action(verb=verb, address=address, change_class=change_class, notes=notes)
    changes = tuple(
        FieldChange(
            path=f"spec.env[{luck.choice(NASTY)}]", before=luck.choice(NASTY), after=luck.choice(NASTY), change_class=ChangeClass.FREE
        )
        for _ in range(shape.fields)
    )
    return Action(
        verb=Verb.UPDATE, address=address, changes=changes, change_class=ChangeClass.REPRICES, notes=notes, source="a|b.yaml", line=1
    )


def _reason(address: Address, luck: random.Random) -> BlockingReason:
    code = luck.choice(("CapacityUnavailable", "VolumeBusy", "Protected", "PriceUnknown", "CapTooSmall"))
    return BlockingReason(
        code=code, address=address, message=f"{luck.choice(NASTY)} {luck.choice(NASTY)}", fix=f"{luck.choice(NASTY)}:\n  nodusctl offers"
    )


def _cost(action: Action, luck: random.Random) -> CostLine:
    rate = Money(luck.randrange(1, 40_000_000))
    return CostLine(
        address=action.address,
        offering="h100|x8`",
        rate_usd_per_hour=rate,
        p50_usd=rate,
        p90_usd=rate * 2,
        at_most_usd=rate * 3,
        horizon=luck.choice(("until the cap", "730 h a month", "a|b")),
        cap_after=luck.choice((None, timedelta(hours=luck.randrange(400), seconds=7))),
        price_origin="quoted",
        price_source=luck.choice(NASTY),
        price_age="1h",
        price_observed_at=NOW,
    )


def _running(line: CostLine) -> Running:
    rate = line.rate_usd_per_hour or Money(0)
    return Running(rate_usd_per_hour=rate, monthly_usd=rate * 730)


def _sum(changes: tuple[CostChange, ...]) -> Running:
    total = NOTHING
    for change in changes:
        total += change.after
    return total


def _name(number: int, length: int, luck: random.Random) -> str:
    unique = f"n{number:03}"
    return (unique + "".join(luck.choice(_LETTERS) for _ in range(max(length - len(unique), 0))))[: max(length, len(unique))]


# Reading a comment as a forge does


_OURS = re.compile(r"(<details><summary>[A-Za-z0-9 ,$./]+</summary>|</details>|<!-- nodusctl-plan [a-z-]+ [0-9a-f]{12} -->)\s*\Z")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a parser makes of a comment: its blocks in order, the texts of its code, and its prose."""

    tokens: tuple[Token, ...]
    code: str
    prose: str


def seen(body: str) -> Seen:
    """Parse ``body``; fails the test where a fence isn't closed, a row has the wrong number of cells, or there is HTML that isn't ours."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(body)
    lines = body.splitlines()
    code, prose = [], []
    for token in tokens:
        if token.type == "fence":
            assert token.map is not None
            assert lines[token.map[1] - 1].strip() == token.markup, f"a fence isn't closed: {lines[token.map[0]]}"
            code.append(token.content)
        elif token.type == "html_block":
            assert _OURS.match(token.content), token.content
        elif token.type == "inline":
            for child in token.children or ():
                assert child.type in {"text", "code_inline", "strong_open", "strong_close", "softbreak"}, (child.type, token.content)
                (code if child.type == "code_inline" else prose).append(child.content)
    _tables_are_whole(tokens)
    return Seen(tuple(tokens), "\n".join(code), "\n".join(prose))


def _tables_are_whole(tokens: list[Token]) -> None:
    width, cells = 0, 0
    for token in tokens:
        if token.type == "thead_open":
            width = 0
        elif token.type == "tr_open":
            cells = 0
        elif token.type in {"th_open", "td_open"}:
            cells += 1
        elif token.type == "tr_close":
            width = width or cells
            assert cells == width, "a row is cut"


def rows_as_written(body: str) -> list[str]:
    """Table lines outside fences."""
    found, fence = [], ""
    for line in body.splitlines():
        marks = re.match(r" *(`{3,})", line)
        if marks and (not fence or line.strip() == fence):
            fence = "" if fence else marks[1]
        elif not fence and line.startswith("|"):
            found.append(line)
    return found
