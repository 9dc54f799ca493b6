"""``receipts --verify``: every receipt recomputed from the journal and compared with the ledger, to the last micro-USD.

Independent of what it checks: it reads events by itself (``trails``), sums entries by itself (``tallies``) and has its own arithmetic
(``recomputing``); only the receipt as people see it comes from the code under test, to be compared. The ledger is walked first, then the
journal; an Attempt is checked and forgotten when its last event passes, so time grows with the state and memory with what is open. Charges
of disks, few and by month, are checked by Volume at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.disk_trails import DiskTrail, walk_disks
from nodusctl.engine.findings import Fault, Finding, dollars
from nodusctl.engine.inspect_receipts import shown_receipt
from nodusctl.engine.rate_origins import RateOrigins, Trace
from nodusctl.engine.recomputing import OwnSegments, own_charge, own_segments
from nodusctl.engine.tallies import Ledger, Tally, damage_of, read_ledger
from nodusctl.engine.trails import Trail, walk_trails
from nodusctl.ports.books import Books, Damaged
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.terms import Terms

_READ_BACK = timedelta(seconds=30)
"""An edge read back is now plus what the machine says is left: late by the time the answer took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """``receipts`` counts Attempts that had a machine, ``open_receipts`` those of them that still bill; ``charged_usd`` is all they cost.

    ``storage_usd`` is what disks were charged.
    ``rates`` counts them by how far back their rate can be followed.
    """

    receipts: int
    open_receipts: int
    charged_usd: Money
    storage_usd: Money
    rates: Mapping[Trace, int]
    findings: tuple[Finding, ...]


Wanted = Callable[[Trail | DiskTrail], bool]
STORAGE = "storage"
"""What stands for the Attempt's name in findings about a Volume's disk."""


def verify_receipts(books: Books, *, origins: RateOrigins, now: datetime, wanted: Wanted | None = None) -> Verification:
    """Check all receipts, or those of the Attempts ``wanted``; faults of no single Attempt belong to a check of all."""
    check = _Check(books, origins, now, wanted)
    check.run()
    return check.result()


def of_owner(owner: Address, snapshot: Snapshot) -> Wanted:
    """Attempts of whatever had the address ``owner``, or has it now."""
    standing = snapshot.get(owner)
    uid = standing.record.uid if standing is not None else ""
    return lambda trail: trail.owner == owner or trail.owner_uid == uid


class _Check:
    """One walk. Holds what has been counted and found so far."""

    def __init__(self, books: Books, origins: RateOrigins, now: datetime, wanted: Wanted | None) -> None:
        self._books, self._origins, self._now, self._wanted = books, origins, now, wanted
        self._ledger = Ledger()
        self._findings: list[Finding] = []
        self._rates: Counter[Trace] = Counter()
        self._seen: set[str] | None = None if wanted is None else set()
        self._volumes: dict[str, str] = {}
        self._queued = self._receipts = self._open = self._charged = self._storage = 0

    def run(self) -> None:
        """Walk the ledger, then the journal, then look at what neither explained."""
        self._findings += read_ledger(self._books, self._ledger)
        for trail in walk_trails(self._books):
            if isinstance(trail, Damaged):
                self._findings.append(damage_of(trail))
            else:
                self._check(trail)
        for disk in walk_disks(self._books, self._now):
            if isinstance(disk, Damaged):
                self._findings.append(damage_of(disk))
            else:
                self._check_disk(disk)
        gone = self._books.rows_gone()
        self._findings += (
            Finding(fault=Fault.GONE, expected=f"every row of {name}", found=f"{count} are gone") for name, count in gone.items()
        )
        if (stored := self._books.attempt_count()) != self._queued:
            self._findings.append(
                Finding(fault=Fault.RECEIPT, expected=f"{self._queued} Attempts, as the journal queued", found=f"{stored} are stored")
            )
        for uid, tally in self._ledger.tallies.items():
            detail = f"entries for {tally.address or 'nobody'}: {dollars(tally.charged)} charged, {dollars(tally.held)} held"
            self._findings.append(Finding(fault=Fault.NO_ATTEMPT, attempt_uid=uid, expected="an Attempt in the journal", found=detail))

    def result(self) -> Verification:
        """What was counted, and the findings with the names of their Attempts."""
        return Verification(
            receipts=self._receipts,
            open_receipts=self._open,
            charged_usd=Money(self._charged),
            storage_usd=Money(self._storage),
            rates=dict(self._rates),
            findings=tuple(self._named(one) for one in self._findings if self._seen is None or one.attempt_uid in self._seen),
        )

    def _check(self, trail: Trail) -> None:
        self._queued += 1
        tally = self._ledger.tallies.pop(trail.uid, None) or Tally(trail.owner_uid, str(trail.owner))
        if self._wanted is not None and not self._wanted(trail):
            return
        if self._seen is not None:
            self._seen.add(trail.uid)
        if trail.has_machine:
            self._receipts += 1
            self._open += trail.ended is None
            self._charged += tally.receipt
        found = [*self._money(trail, tally), *self._shown(trail, tally), *self._rate(trail)]
        self._findings += (replace(one, attempt=trail.name, attempt_uid=trail.uid, owner=str(trail.owner)) for one in found)

    def _check_disk(self, trail: DiskTrail) -> None:
        tally = self._ledger.tallies.pop(trail.uid, None) or Tally(trail.uid, str(trail.owner))
        self._volumes[trail.uid] = str(trail.owner)
        if self._wanted is not None and not self._wanted(trail):
            return
        if self._seen is not None:
            self._seen.add(trail.uid)
        self._storage += tally.charged
        found = [*trail.differences(self._ledger.storage.get(trail.uid, {}))]
        if tally.held:
            found.append(
                Finding(fault=Fault.STILL_HELD, expected="$0.00 held: nothing is, for a disk", found=f"{dollars(tally.held)} held")
            )
        self._findings += (replace(one, attempt=STORAGE, attempt_uid=trail.uid, owner=str(trail.owner)) for one in found)

    def _money(self, trail: Trail, tally: Tally) -> Iterator[Finding]:
        if tally.object_uid and tally.object_uid != trail.owner_uid:
            yield Finding(fault=Fault.MISPLACED, expected=f"entries of object {trail.owner_uid}", found=f"of {tally.object_uid}")
        if trail.ended is not None or trail.is_closed:
            yield from _settled(trail, tally)
        else:
            yield from _under_way(trail, tally, self._now)

    def _shown(self, trail: Trail, tally: Tally) -> Iterator[Finding]:
        """The receipt as people see it is made from the stored Attempt: the same facts, the same segments."""
        stored = self._books.attempt(trail.uid)
        if not isinstance(stored, Attempt):
            yield Finding(fault=Fault.RECEIPT, expected="the Attempt as stored", found=stored.why if stored is not None else "none")
            return
        differences = list(_differences(trail, stored))
        yield from differences
        if differences or not trail.has_machine or trail.terms is None:
            return
        parts = shown_receipt(stored, charged=Money(tally.charged), held=Money(tally.held), now=self._now).segments
        shown = OwnSegments(parts.boot.micro, parts.restore.micro, parts.running.micro, parts.teardown.micro)
        end = trail.billing.shown_until(self._now, Money(tally.charged + tally.held))
        own = own_segments(trail.began, trail.ready, trail.stop_asked, end, trail.terms, is_replacement=bool(trail.replaces))
        if own != shown:
            yield Finding(fault=Fault.SEGMENTS, expected=_parts(own), found=_parts(shown))

    def _rate(self, trail: Trail) -> tuple[Finding, ...]:
        if trail.terms is None or not trail.has_machine:
            return ()
        trace, findings = self._origins.judge(trail.terms)
        self._rates[trace] += 1
        return findings

    def _named(self, finding: Finding) -> Finding:
        """Findings of the ledger know a uid only."""
        if finding.attempt or not finding.attempt_uid:
            return finding
        if finding.attempt_uid in self._volumes:
            return replace(finding, attempt=STORAGE, owner=self._volumes[finding.attempt_uid])
        stored = self._books.attempt(finding.attempt_uid)
        return replace(finding, attempt=stored.name, owner=str(stored.owner)) if isinstance(stored, Attempt) else finding


def _settled(trail: Trail, tally: Tally) -> Iterator[Finding]:
    expected = 0
    if trail.has_machine and trail.ended is None:
        yield Finding(fault=Fault.NO_END, expected="the end of its machine before it is closed", found="none in the journal")
    elif trail.has_machine and trail.ended is not None and trail.terms is not None:
        expected = own_charge(trail.began, trail.ended, trail.terms)
    if tally.receipt != expected:
        made_of = f"{dollars(tally.receipt)} (captures {dollars(tally.captured)}, corrections {dollars(tally.corrected)})"
        yield Finding(fault=Fault.CHARGE, expected=dollars(expected), found=made_of)
    if tally.held:
        yield Finding(fault=Fault.STILL_HELD, expected="$0.00 held once it is settled", found=f"{dollars(tally.held)} held")


def _under_way(trail: Trail, tally: Tally, now: datetime) -> Iterator[Finding]:
    terms, edge = trail.terms, trail.edge
    if terms is None or edge is None:
        if tally.held or tally.receipt:
            found = f"{dollars(tally.held)} held, {dollars(tally.receipt)} charged"
            yield Finding(fault=Fault.STILL_HELD, expected="$0.00 while no machine is asked for", found=found)
        return
    began = trail.began or trail.launch_at
    binding = terms.ceiling_usd_per_hour if terms.is_interruptible else terms.rate_usd_per_hour
    until_edge = own_charge(began, edge + terms.stop_bound - _READ_BACK, terms, binding.micro)
    if tally.held + tally.charged < until_edge:
        covered = f"{dollars(tally.held + tally.charged)} held and charged"
        yield Finding(fault=Fault.HOLD, expected=f"at least {dollars(until_edge)}, its cost until its edge", found=covered)
    used = own_charge(trail.began, now, terms)
    if tally.receipt > used:
        yield Finding(fault=Fault.USED, expected=f"at most {dollars(used)}, its cost until now", found=f"{dollars(tally.receipt)} charged")


def _differences(trail: Trail, stored: Attempt) -> Iterator[Finding]:
    times = stored.timings
    facts: tuple[tuple[str, object, object], ...] = (
        ("name", trail.name, stored.name),
        ("owner", trail.owner_uid, stored.owner_uid),
        ("replaces", trail.replaces, stored.replaces),
        ("machine", trail.has_machine, stored.machine is not None),
        ("billing start", trail.began, times.billing_started_at),
        ("ready", trail.ready, times.ready_at),
        ("stop asked", trail.stop_asked, times.stop_asked_at),
        ("end", trail.ended, times.finished_at),
        ("closed", trail.is_closed, not stored.is_open),
        ("terms", trail.terms, stored.terms),
    )
    for what, expected, found in facts:
        if expected != found:
            words = (_words_of(trail.terms), _words_of(stored.terms)) if what == "terms" else (str(expected), str(found))
            yield Finding(fault=Fault.RECEIPT, expected=f"{what} {words[0]}", found=f"{what} {words[1]}")


def _words_of(terms: Terms | None) -> str:
    return "none" if terms is None else f"{terms.offer_key} at {terms.rate_usd_per_hour.shown}/h"


def _parts(parts: OwnSegments) -> str:
    named = (("boot", parts.boot), ("restore", parts.restore), ("running", parts.running), ("teardown", parts.teardown))
    return ", ".join(f"{name} {dollars(micro)}" for name, micro in named)
