"""What is taken from the text of others."""

from __future__ import annotations

import pytest

from emulator.model.escapes import last_line


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("E: no route\n", "E: no route"),
        ("first\r\n  The disk is full.\r\n\n", "The disk is full"),
        (" \n", "it gave no reason"),
        ("", "it gave no reason"),
    ],
)
def test_the_last_line_of_a_program_has_words_and_no_full_stop(text, last):
    assert last_line(text) == last


def test_what_is_said_of_a_program_that_printed_nothing_can_be_chosen():
    assert last_line("", "it printed nothing") == "it printed nothing"
