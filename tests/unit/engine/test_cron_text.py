"""Our lines in a person's crontab: found exactly, replaced in place, taken out without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodusctl.engine.cron_text import assignments, entry_of, with_entry, without_entry

LAB, OTHER = Path("/srv/lab"), Path("/srv/lab2")
THEIRS = 'MAILTO=""\n# backups, 50% of the time\n0 3 * * * backup\n\n'
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)


@given(lines=st.lists(LINES, max_size=8))
def test_what_others_wrote_is_the_same_byte_for_byte_after_install_and_remove(lines: list[str]) -> None:
    before = "".join(f"{line}\n" for line in lines)
    assert without_entry(with_entry(before, LAB, "* * * * * tick"), LAB) == before


@given(lines=st.lists(LINES, max_size=8), above=st.integers(0, 8))
def test_installing_again_changes_our_line_where_it_stands_and_nothing_else(lines: list[str], above: int) -> None:
    head, tail = "".join(f"{line}\n" for line in lines[:above]), "".join(f"{line}\n" for line in lines[above:])
    once = with_entry(head, LAB, "* * * * * tick") + tail
    again = with_entry(once, LAB, "*/5 * * * * tick")
    assert again == with_entry(head, LAB, "*/5 * * * * tick") + tail
    assert entry_of(again, LAB) == "*/5 * * * * tick"


def test_a_missing_last_line_break_is_added_so_that_two_lines_never_become_one() -> None:
    assert with_entry("0 3 * * * backup", LAB, "x").startswith("0 3 * * * backup\n# >>> ")


def test_each_project_has_its_own_line() -> None:
    both = with_entry(with_entry(THEIRS, LAB, "one"), OTHER, "two")
    assert (entry_of(both, LAB), entry_of(both, OTHER)) == ("one", "two")
    assert without_entry(both, LAB) == with_entry(THEIRS, OTHER, "two")


def test_a_doubled_entry_becomes_one() -> None:
    ours = with_entry("", LAB, "old")
    assert with_entry(ours + THEIRS + ours, LAB, "new") == with_entry("", LAB, "new") + THEIRS


def test_a_mark_whose_end_was_edited_away_takes_nothing_of_anybody_with_it() -> None:
    broken = with_entry("", LAB, "old").rpartition("# <<<")[0] + "0 3 * * * backup\n"
    assert without_entry(broken, LAB) == broken
    assert entry_of(broken, LAB) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("SHELL=/bin/bash\n", {"SHELL": "/bin/bash"}, id="plain"),
        pytest.param("PATH = \"/opt/bin:/usr/bin\"\n 'A' = 'b c'\n", {"PATH": "/opt/bin:/usr/bin", "A": "b c"}, id="quoted"),
        pytest.param("# A=b\n* * * * * A=b run\n@daily A=b run\n", {}, id="comments and commands"),
        pytest.param(with_entry("A=above\n", LAB, "x") + "A=below\n", {"A": "above"}, id="below our line"),
    ],
)
def test_variables_the_crontab_sets_for_our_line(text: str, found: dict[str, str]) -> None:
    assert assignments(text, LAB) == found
