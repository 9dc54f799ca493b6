"""Words lose secrets on their way into the state; identities don't change."""

from __future__ import annotations

from datetime import UTC, datetime

from nodusctl.attempts.events import LaunchRefused, MachineSeen, Remarked
from nodusctl.base.redaction import MARK
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.state.status import Condition, ObjectStatus
from nodusctl.store.codec import encode
from nodusctl.store.freetext import without_secrets

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOKEN = "hf_TESTSECRET123"


def test_a_providers_message_loses_what_looks_like_a_token() -> None:
    event = LaunchRefused(time=NOON, object_uid="u", offer_key="k", code="Denied", scope="object", message=f"bad {TOKEN}")
    assert without_secrets(event).message == f"bad {MARK}"


def test_nested_words_are_cleaned_and_identities_kept() -> None:
    machine = Machine(id=TOKEN, state=MachineState.FAILED, reason=f"said {TOKEN}")
    cleaned = without_secrets(MachineSeen(time=NOON, object_uid="u", machine=machine)).machine
    assert (cleaned.id, cleaned.reason) == (TOKEN, f"said {MARK}")


def test_words_inside_tuples_are_cleaned() -> None:
    condition = Condition(type="Ready", status="False", reason="Failed", message=TOKEN, last_transition_at=NOON)
    assert without_secrets(ObjectStatus(conditions=(condition,))).conditions[0].message == MARK


def test_a_clean_value_is_the_same_value() -> None:
    event = Remarked(time=NOON, object_uid="u", code="c", message="all is well")
    assert without_secrets(event) is event


def test_bytes_that_were_never_text_can_be_stored() -> None:
    event = Remarked(time=NOON, object_uid="u", code="c", message=b"gr\xfc\xdfe".decode("utf-8", "surrogateescape"))
    assert '"message":"gr??e"' in encode(without_secrets(event))
