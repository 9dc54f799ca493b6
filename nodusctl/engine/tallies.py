"""The ledger by Attempt, and by Volume for storage: every entry looked at by itself, and what the entries of each come to.

Integers of micro-USD, summed here and not by ``ledger.balances``, for the reason told in ``recomputing``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from nodusctl.engine.findings import Fault, Finding, dollars
from nodusctl.ledger.entries import Entry, EntryKind
from nodusctl.ports.books import Books, Damaged

_HELD_SIGN = {
    EntryKind.HOLD: 1,
    EntryKind.RENEW: 1,
    EntryKind.RELEASE: -1,
    EntryKind.CAPTURE: -1,
}
"""Which way a kind may move what is held; the others may not at all."""
_CHARGED_SIGN = {EntryKind.CAPTURE: 1, EntryKind.REFUND: -1}


@dataclass(slots=True)
class Tally:
    """What the entries of one Attempt, or of one Volume's disks, come to.

    ``posted_held`` and ``posted_charged`` are the same by the postings beside the entries."""

    object_uid: str
    address: str
    captured: int = 0
    corrected: int = 0
    refunded: int = 0
    held: int = 0
    posted_held: int = 0
    posted_charged: int = 0
    is_damaged: bool = False

    @property
    def receipt(self) -> int:
        """Captures and corrections: what the receipt says (money.md, "Receipts")."""
        return self.captured + self.corrected

    @property
    def charged(self) -> int:
        """What the account stands at."""
        return self.captured + self.corrected - self.refunded


@dataclass(slots=True)
class Ledger:
    """All tallies by Attempt uid (for storage, Volume uid), what accounts of nobody come to, and corrections that point at an entry.

    ``storage`` are the charges of disks by Volume uid and entry id.
    """

    tallies: dict[str, Tally] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    corrections: list[Entry] = field(default_factory=list)
    storage: dict[str, dict[str, Entry]] = field(default_factory=dict)


def read_ledger(books: Books, ledger: Ledger) -> Iterator[Finding]:
    """Walk the entries into ``ledger``; a finding for each that can't be as it is."""
    for entry in books.entries():
        if isinstance(entry, Damaged):
            _tally(ledger, entry.attempt_uid, "", "").is_damaged = True
            yield damage_of(entry)
        else:
            yield from _read(entry, ledger)
    yield from _corrections(books, ledger)
    yield from _postings(books, ledger)


def _read(entry: Entry, ledger: Ledger) -> Iterator[Finding]:
    moved_held = moved_charged = total = 0
    bearer = entry.attempt_uid or entry.object_uid
    held, charged = f"held:{bearer}", f"charged:{bearer}"
    strangers: list[str] = []
    for posting in entry.postings:
        micro = posting.amount.micro
        total += micro
        if bearer and posting.account == held:
            moved_held += micro
        elif bearer and posting.account == charged:
            moved_charged += micro
        elif posting.account in {"available", "granted"}:
            ledger.others[posting.account] = ledger.others.get(posting.account, 0) + micro
        else:
            strangers.append(posting.account)
    if total:
        yield _entry_finding(Fault.UNBALANCED, entry, "postings that come to $0.00", dollars(total))
    if strangers or bool(bearer) is (entry.kind is EntryKind.GRANT):
        yield _entry_finding(Fault.MISPLACED, entry, "accounts of its own Attempt", ", ".join(strangers) or "no Attempt")
    if not _may_move(_HELD_SIGN, entry, moved_held) or not _may_move(_CHARGED_SIGN, entry, moved_charged):
        yield _entry_finding(Fault.MISPLACED, entry, f"what a {entry.kind} moves", _pair((moved_held, moved_charged)))
    if bearer:
        _add(entry, _tally(ledger, bearer, entry.object_uid, entry.object_address), moved_held, moved_charged)
    if bearer and not entry.attempt_uid:
        ledger.storage.setdefault(bearer, {})[entry.id] = entry
    if entry.kind is EntryKind.CORRECTION:
        ledger.corrections.append(entry)


def _may_move(signs: dict[EntryKind, int], entry: Entry, micro: int) -> bool:
    if entry.kind is EntryKind.CORRECTION and signs is _CHARGED_SIGN:
        return True
    return micro * signs.get(entry.kind, 0) > 0 or micro == 0


def _add(entry: Entry, tally: Tally, moved_held: int, moved_charged: int) -> None:
    tally.held += moved_held
    match entry.kind:
        case EntryKind.CORRECTION:
            tally.corrected += moved_charged
        case EntryKind.REFUND:
            tally.refunded -= moved_charged
        case _:
            tally.captured += moved_charged


def _tally(ledger: Ledger, bearer: str, object_uid: str, address: str) -> Tally:
    tally = ledger.tallies.get(bearer)
    if tally is None:
        tally = ledger.tallies[bearer] = Tally(object_uid, address)
    return tally


def _corrections(books: Books, ledger: Ledger) -> Iterator[Finding]:
    """A correction points at another entry of its own Attempt. Times don't say which is earlier: a clock may have been put back."""
    for entry in ledger.corrections:
        target = books.entry(entry.corrects or "")
        if not isinstance(target, Entry) or target.bearer != entry.bearer or target.id == entry.id:
            yield _entry_finding(Fault.CORRECTS_NOTHING, entry, "another entry of its Attempt", entry.corrects or "nothing")


def _postings(books: Books, ledger: Ledger) -> Iterator[Finding]:
    """The stored postings, which caps and Budgets sum, say what the entries say."""
    others: dict[str, int] = {}
    for account, side, object_uid, micro in books.posted():
        name, _, uid = account.partition(":")
        tally = ledger.tallies.get(uid) if uid else None
        if name != side or (tally is not None and tally.object_uid != object_uid):
            yield Finding(fault=Fault.POSTINGS, attempt_uid=uid, expected="its own side and object", found=f"{account} as {side}")
        if tally is not None and name in {"held", "charged"}:
            tally.posted_held += micro if name == "held" else 0
            tally.posted_charged += micro if name == "charged" else 0
        else:
            others[account] = others.get(account, 0) + micro
    for account in sorted({*others, *ledger.others}):
        expected, found = ledger.others.get(account, 0), others.get(account, 0)
        if expected != found:
            yield Finding(fault=Fault.POSTINGS, expected=f"{account} {dollars(expected)}", found=dollars(found))
    for uid, tally in ledger.tallies.items():
        expected_pair, found_pair = (tally.held, tally.charged), (tally.posted_held, tally.posted_charged)
        if expected_pair != found_pair and not tally.is_damaged:
            yield Finding(fault=Fault.POSTINGS, attempt_uid=uid, expected=_pair(expected_pair), found=_pair(found_pair))


def _pair(amounts: tuple[int, int]) -> str:
    return f"held {dollars(amounts[0])}, charged {dollars(amounts[1])}"


def _entry_finding(fault: Fault, entry: Entry, expected: str, found: str) -> Finding:
    return Finding(fault=fault, attempt_uid=entry.bearer, expected=expected, found=f"{found} (entry {entry.id})")


def damage_of(row: Damaged) -> Finding:
    """A row that can't be read as what was written."""
    return Finding(fault=Fault.DAMAGED, attempt_uid=row.attempt_uid, expected="a row as it was written", found=f"{row.what}: {row.why}")
