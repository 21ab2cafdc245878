"""Numbers of things in sentences: one job, several jobs."""

from __future__ import annotations

import pytest

from emulator.model.counts import number_of


@pytest.mark.parametrize(("number", "said"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs")])
def test_one_thing_is_not_many(number, said):
    assert number_of(number, "job") == said


def test_a_plural_may_be_stated():
    assert [number_of(number, "process", "processes") for number in (1, 2)] == ["1 process", "2 processes"]
