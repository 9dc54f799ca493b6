"""A snapshot of the state as a file: what planning needs, in one JSON document that may leave the house.

What is left out on the way is decided in ``snapshot_privacy``. The file has a digest, so a damaged one is told; it is no signature: a plan
made from it counts for nothing but its hash, which apply makes again from the state itself.

UserError             the file can't be read, or is no snapshot this nodusctl may plan with
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import nodusctl
from nodusctl.attempts.intents import Intent
from nodusctl.base.canonical import digest
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import clean
from nodusctl.engine.outside_facts import NO_FACTS
from nodusctl.engine.snapshot_outlook import Outlook
from nodusctl.engine.snapshot_privacy import without_account, without_login, without_private
from nodusctl.ledger.room import Tally
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.plan import Burning
from nodusctl.planner.world import Market, OutsideFacts
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot, Standing

FORMAT = 1
USUAL_NAME = ".nodus.snapshot.json"
_VERSION_KEY = "nodusSnapshot"
_AGAIN = "Write it again where the state and the providers can be reached:\n  nodusctl state snapshot -o FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupsRow:
    """How long past starts of one offering took."""

    provider: str
    offering: str
    spans: tuple[timedelta, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyRow:
    """One sum of the ledger: an object's uid, a side of it, the UTC month (of charges only), micro-USD."""

    object_uid: str
    side: str
    month: str
    micro: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRow:
    """What one provider instance answered, and the digest of the settings it was asked with."""

    market: Market
    settings_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """The document. ``time_is_simulated`` means that ``taken_at`` is a world's time and stays the time of every plan made from it."""

    project: str
    lineage: str
    serial: int
    is_fresh_state: bool
    state_url: str
    taken_at: datetime
    time_is_simulated: bool
    standings: tuple[Standing, ...] = ()
    intents: tuple[Intent, ...] = ()
    burning: tuple[Burning, ...] = ()
    tally: tuple[TallyRow, ...] = ()
    ticker_is_near: bool = False
    startups: tuple[StartupsRow, ...] = ()
    markets: tuple[MarketRow, ...] = ()
    outside: OutsideFacts = NO_FACTS


def snapshot_file(outlook: Outlook, project: ProjectFile, *, time_is_simulated: bool) -> SnapshotFile:
    """What of an Outlook is written down."""
    settings = settings_digests(project)
    return SnapshotFile(
        project=project.project,
        lineage="" if outlook.is_fresh_state else outlook.lineage,
        serial=outlook.snapshot.serial,
        is_fresh_state=outlook.is_fresh_state,
        state_url=without_login(outlook.state_url),
        taken_at=outlook.taken_at,
        time_is_simulated=time_is_simulated,
        standings=tuple(without_private(one) for one in outlook.snapshot),
        intents=tuple(replace(one, request={}, request_digest="", token="", last_detail="", outcome="") for one in outlook.intents),
        burning=outlook.burning,
        tally=tuple(TallyRow(object_uid=uid, side=side, month=month, micro=micro) for uid, side, month, micro in outlook.tally.rows()),
        ticker_is_near=outlook.ticker_is_near,
        startups=tuple(
            StartupsRow(provider=provider, offering=offering, spans=spans) for (provider, offering), spans in outlook.startups.items()
        ),
        markets=tuple(MarketRow(market=without_account(one), settings_digest=settings.get(one.instance, "")) for one in outlook.markets),
        outside=replace(outlook.outside, foreign=tuple(replace(one, owner="") for one in outlook.outside.foreign)),
    )


def write_snapshot(made: SnapshotFile) -> str:
    """The file's text, a value a line so that version control can compare two. Whatever is shaped like a token is taken out once more."""
    body = {_VERSION_KEY: FORMAT, "nodusctl": nodusctl.__version__, "snapshot": _cleaned(as_json(made))}
    return json.dumps({**body, "fileDigest": digest(body)}, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def read_snapshot(path: Path) -> SnapshotFile:
    """The snapshot in a file; UserError where it can't be read, is newer, or isn't as it was written."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise _unreadable(path, f"{fault.strerror}.") from None
    except (ValueError, RecursionError):
        raise _unreadable(path, "it is no complete JSON document.") from None
    if not isinstance(body, dict) or type(body.get(_VERSION_KEY)) is not int:
        raise _unreadable(path, "it is no snapshot of a state.")
    if body[_VERSION_KEY] > FORMAT:
        raise _unreadable(path, f"it has format {body[_VERSION_KEY]}; this nodusctl reads formats up to {FORMAT}.")
    written = body.pop("fileDigest", None)
    if written != _digest_of(body):
        raise _unreadable(path, "it was changed after it was written: its digest no longer fits.")
    try:
        return from_json(SnapshotFile, body.get("snapshot"))
    except ValueError as problem:
        raise _unreadable(path, f"a part of it can't be read: {problem}.") from None


def outlook_of(read: SnapshotFile, project: ProjectFile, rates: Mapping[str, Any], *, now: datetime, minted: str) -> Outlook:
    """The Outlook a plan is made from: the file's, under the project as it is here and at ``now`` unless its time is a world's.

    ``minted`` is a new lineage, used where the snapshot found no state. ``rates`` are configured rates of own hardware by instance.
    """
    rows, settings = {row.market.instance: row for row in read.markets}, settings_digests(project)
    return Outlook(
        snapshot=Snapshot(lineage=read.lineage, serial=read.serial, standings={one.record.address: one for one in read.standings}),
        lineage=minted if read.is_fresh_state else read.lineage,
        is_fresh_state=read.is_fresh_state,
        state_url=read.state_url,
        taken_at=read.taken_at if read.time_is_simulated else now,
        markets=tuple(_market_here(name, rows.get(name), settings[name], rates.get(name)) for name in settings),
        intents=read.intents,
        burning=read.burning,
        tally=_tally(read.tally),
        ticker_is_near=read.ticker_is_near,
        startups={(row.provider, row.offering): row.spans for row in read.startups},
        outside=read.outside,
        written_at=read.taken_at,
    )


def settings_digests(project: ProjectFile) -> dict[str, str]:
    """A digest of each instance's type and settings, in the project file's order; a rate of own hardware aside, which is read afresh."""
    return {
        one.name: digest({"type": one.type, **{key: _exact(value) for key, value in one.settings.items() if key != "rateUSDPerHour"}})
        for one in project.providers
    }


def _exact(value: Any) -> Any:
    """A setting with its floats as texts, since a digest takes none."""
    if isinstance(value, Mapping):
        return {str(key): _exact(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _market_here(name: str, row: MarketRow | None, settings_digest: str, rate: Any) -> Market:
    """An instance as the snapshot has it; one it doesn't know, or knows with other settings, gave no answer."""
    if row is None:
        return Market(instance=name, why_not="it is not in the snapshot, which is older than its entry in nodusctl.yaml")
    if row.settings_digest != settings_digest:
        return Market(instance=name, why_not="the snapshot was taken with other settings of it")
    return replace(row.market, configured_rate=rate)


def _tally(rows: tuple[TallyRow, ...]) -> Tally:
    made = Tally()
    for row in rows:
        made.add(row.object_uid, row.side, row.month, row.micro)
    return made


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def _digest_of(body: dict[str, Any]) -> str:
    try:
        return digest(body)
    except TypeError:
        return ""


def _unreadable(path: Path, why: str) -> UserError:
    return UserError(error("SnapshotUnreadable", "The snapshot can't be used.", f"{path}: {why}", _AGAIN))
