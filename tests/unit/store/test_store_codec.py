"""What is stored comes back equal, and what a newer version stored is never half read."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event, Remarked
from nodusctl.attempts.intents import Intent
from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry, EntryKind, Posting
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus
from nodusctl.store.codec import decode, decode_event, encode, encode_event
from nodusctl.testing.store_hooks import a_hold, a_record

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
LEAVES: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(min_value=-(2**63), max_value=2**63),
    bool: st.booleans(),
    Any: JSON,
    datetime: st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    timedelta: st.timedeltas(min_value=timedelta(days=-9999), max_value=timedelta(days=99999)),
    Money: st.builds(Money, st.integers(min_value=-(10**15), max_value=10**15)),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type our dataclasses use."""
    if hint in LEAVES:
        return LEAVES[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return st.builds(hint, **{place.name: values_of(typing.get_type_hints(hint)[place.name]) for place in fields(hint)})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*[st.none() if part is types.NoneType else values_of(part) for part in arguments])
    return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)


def balanced_entries() -> st.SearchStrategy[Entry]:
    """Entries whose postings sum to zero, the only ones there are."""
    amounts = st.lists(st.integers(min_value=-(10**12), max_value=10**12), max_size=3)
    postings = amounts.map(lambda micros: tuple(Posting(account="held:a", amount=Money(micro)) for micro in [*micros, -sum(micros)]))
    kinds = st.sampled_from([kind for kind in EntryKind if kind is not EntryKind.CORRECTION])
    return st.builds(Entry, id=TEXT, kind=kinds, time=LEAVES[datetime], object_uid=TEXT, attempt_uid=TEXT, postings=postings, memo=TEXT)


@pytest.mark.parametrize("kind", typing.get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_comes_back_equal(kind: type) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(kind))
    def comes_back(event: Event) -> None:
        assert decode_event(*encode_event(event)) == event

    comes_back()


@pytest.mark.parametrize("kind", [Record, ObjectStatus, Intent, Attempt], ids=lambda kind: kind.__name__)
def test_every_stored_value_comes_back_equal(kind: type) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(kind))
    def comes_back(value: Any) -> None:
        assert decode(kind, encode(value)) == value

    comes_back()


@settings(max_examples=40, deadline=None)
@given(balanced_entries())
def test_every_entry_comes_back_equal(entry: Entry) -> None:
    assert decode(Entry, encode(entry)) == entry


def test_amounts_and_times_are_exact_text() -> None:
    """Money is a decimal string and a time RFC 3339 with microseconds: nothing is ever a float."""
    stored = json.loads(encode(a_hold(micro=4_400_001)))
    assert stored["postings"][1]["amount"] == "4.400001"
    assert stored["time"] == "2026-10-26T12:00:00.123456Z"


def test_an_unknown_field_is_an_error_that_names_it() -> None:
    """A newer version's field is never dropped, and the message shows where it is, not what it holds."""
    stored = json.loads(encode(a_record())) | {"tenancy": "s3cret-value"}
    with pytest.raises(UserError) as refusal:
        decode(Record, json.dumps(stored))
    told = refusal.value.diagnostics[0]
    assert (told.code, "tenancy" in told.detail, "s3cret" in told.detail) == ("StateNewer", True, False)


def test_an_unknown_field_deep_inside_is_an_error_too() -> None:
    stored = json.loads(encode(a_record()))
    stored["address"]["zone"] = "x"
    with pytest.raises(UserError, match="doesn't understand") as refusal:
        decode(Record, json.dumps(stored))
    assert "address.zone" in refusal.value.diagnostics[0].detail


def test_an_unknown_event_is_an_error() -> None:
    with pytest.raises(UserError) as refusal:
        decode_event("MachineSang", "{}")
    assert "MachineSang" in refusal.value.diagnostics[0].detail


def test_a_missing_field_takes_its_default() -> None:
    """A value an older version stored is read as it was meant."""
    stored = json.loads(encode(Remarked(time=datetime(2026, 1, 1, tzinfo=UTC), object_uid="u", code="c", message="m")))
    del stored["attempt_uid"]
    assert decode_event("Remarked", json.dumps(stored)).attempt_uid == ""
