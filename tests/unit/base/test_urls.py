"""Passwords in URLs: wherever they stand, and however badly they were written."""

from __future__ import annotations

import pytest

from nodusctl.base.urls import passwords_of, without_password


@pytest.mark.parametrize(
    ("url", "shown", "passwords"),
    [
        ("postgresql://ada:s3:c@r@h/db", "postgresql://ada:***@h/db", ("s3:c@r",)),
        ("postgresql://ada@h/db", "postgresql://ada@h/db", ()),
        ("postgresql://h:5432/db?user=a@b", "postgresql://h:5432/db?user=a@b", ()),
        (
            "postgresql:///db?host=/x&password=a%40b&sslmode=require",
            "postgresql:///db?host=/x&password=***&sslmode=require",
            ("a%40b", "a@b"),
        ),
        ("postgresql://u:p@[::1]:5/db", "postgresql://u:***@[::1]:5/db", ("p",)),
        ("postgresql://u:p@[::1", "postgresql://u:***@[::1", ("p",)),
        ("postgresql://ada:pa/ss@h/db", "postgresql://ada:***@h/db", ("pa/ss",)),
        ("postgresql://ada:12/34@h/db", "postgresql://ada:***@h/db", ("12/34",)),
        ("postgresql://ada:pa?s@h/db?password=x", "postgresql://ada:***@h/db?password=***", ("pa?s", "x")),
        ("postgresql://ada:@h/db", "postgresql://ada:***@h/db", ()),
        ("sqlite:///.nodus/state.db", "sqlite:///.nodus/state.db", ()),
        ("sqlite:////var/x@y.db", "sqlite:////var/x@y.db", ()),
        ("nonsense", "nonsense", ()),
    ],
)
def test_a_password_is_no_part_of_a_place(url: str, shown: str, passwords: tuple[str, ...]) -> None:
    assert without_password(url) == shown
    assert passwords_of(url) == passwords
