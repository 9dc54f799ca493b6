"""Pairs as text: what is told apart, and which slips are noticed."""

from __future__ import annotations

import pytest

from nodusctl.base.redaction import MARK, clean
from nodusctl.store import member_keys

SECRET = member_keys.new_secret()
PUBLIC = member_keys.public_of(SECRET)


def test_what_is_wrapped_opens_with_the_secret_half_in_its_context_only() -> None:
    sealed = member_keys.wrapped(b"r" * 32, PUBLIC, "ada")
    assert member_keys.unwrapped(SECRET, sealed, "ada") == b"r" * 32
    assert member_keys.unwrapped(SECRET, sealed, "ben") is None
    assert member_keys.unwrapped(member_keys.new_secret(), sealed, "ada") is None
    assert member_keys.unwrapped(SECRET, sealed[:-1], "ada") is None
    assert member_keys.wrapped(b"r" * 32, PUBLIC, "ada") != sealed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PUBLIC[:-1], "wrong or missing"),
        (PUBLIC[:20] + ("a" if PUBLIC[20] != "a" else "b") + PUBLIC[21:], "wrong or missing"),
        (PUBLIC.replace("public", "secret"), "secret"),
        (SECRET, "secret key"),
        ("ssh-ed25519 AAAA", "begins with"),
        ("", "begins with"),
        (member_keys.PUBLIC + "1890!", "wrong or missing"),
    ],
    ids=["cut", "mistyped", "renamed", "secret", "another-tool", "empty", "too-short"],
)
def test_text_that_is_no_public_half_is_told_apart(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refusal:
        member_keys.checked_public(text)
    assert SECRET not in str(refusal.value)


def test_blanks_around_a_key_are_no_part_of_it() -> None:
    assert member_keys.checked_public(f"  {PUBLIC}\n") == PUBLIC
    assert member_keys.public_of(f"{SECRET}\n") == PUBLIC


def test_a_secret_half_is_known_by_its_form() -> None:
    """Also one this process has never touched, as in an error somebody pastes."""
    assert clean(f"nodusctl state keys add ada {SECRET}") == f"nodusctl state keys add ada {MARK}"
    assert clean(PUBLIC) == PUBLIC
