"""Codes and sessions of the live page."""

import pytest

from emulator.model.errors import Unauthorized
from emulator.model.page_access import CODE_HOST_S, MOST_CODES, MOST_SESSIONS, SESSION_HOST_S, PageAccess


def test_a_code_opens_one_session():
    access = PageAccess()
    code = access.issue_code(0.0)
    session = access.open_session(code, 1.0)
    assert access.admits(session, 2.0)
    with pytest.raises(Unauthorized, match="used already"):
        access.open_session(code, 3.0)


@pytest.mark.parametrize("guess", ["", "x", "\udc80", "a" * 10_000])
def test_a_guess_opens_nothing(guess):
    access = PageAccess()
    access.issue_code(0.0)
    with pytest.raises(Unauthorized):
        access.open_session(guess, 0.0)
    assert not access.admits(guess, 0.0)


def test_a_code_is_no_session():
    access = PageAccess()
    assert not access.admits(access.issue_code(0.0), 0.0)


def test_a_code_lasts_minutes_and_a_session_a_day_after_its_last_use():
    access = PageAccess()
    late = access.issue_code(0.0)
    with pytest.raises(Unauthorized):
        access.open_session(late, CODE_HOST_S + 1)
    session = access.open_session(access.issue_code(0.0), 0.0)
    assert access.admits(session, SESSION_HOST_S)
    assert access.admits(session, 2 * SESSION_HOST_S)
    assert not access.admits(session, 3 * SESSION_HOST_S + 1)


def test_the_oldest_make_room():
    access = PageAccess()
    first = access.issue_code(0.0)
    for now_s in range(1, MOST_CODES + 1):
        access.issue_code(float(now_s))
    with pytest.raises(Unauthorized):
        access.open_session(first, float(MOST_CODES))
    sessions = [access.open_session(access.issue_code(float(at)), float(at)) for at in range(MOST_SESSIONS + 1)]
    assert not access.admits(sessions[0], 100.0)
    assert access.admits(sessions[1], 100.0)
