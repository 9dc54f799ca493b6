"""A Resource written out as YAML reads back as the same Resource, defaults written or not."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from support.drawn_specs import RUN_NOWHERE, RUN_ON_MACHINES, resource_of


@settings(deadline=None, max_examples=120)
@given(RUN_ON_MACHINES | RUN_NOWHERE)
def test_any_valid_spec_reads_back_equal_from_what_was_written_and_from_what_it_means(document: tuple[str, dict[str, Any]]) -> None:
    kind, spec = document
    first = resource_of(kind, spec)
    again = resource_of(kind, first.written)
    assert (again.written, again.spec) == (first.written, first.spec)
    complete = resource_of(kind, first.spec)
    assert complete.spec == first.spec
