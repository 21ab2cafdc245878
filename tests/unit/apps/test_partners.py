"""Who exchanges messages with whom in the patterns of the NAS benchmarks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from apps.partners import PATTERNS, partners, pattern_period


@given(st.sampled_from(sorted(PATTERNS)), st.integers(1, 17), st.integers(0, 40))
def test_every_message_is_received_in_the_step_in_which_it_is_sent(pattern, tasks, step):
    sent = Counter((rank, to) for rank in range(tasks) for to in partners(pattern, rank, step, tasks)[0])
    received = Counter((source, rank) for rank in range(tasks) for source in partners(pattern, rank, step, tasks)[1])
    assert sent == received
    assert all(count == 1 and rank != to for (rank, to), count in sent.items())


@given(st.sampled_from(sorted(PATTERNS)), st.integers(2, 17), st.integers(0, 40))
def test_partners_repeat_after_a_period(pattern, tasks, step):
    later = step + pattern_period(pattern, tasks)
    assert all(partners(pattern, rank, step, tasks) == partners(pattern, rank, later, tasks) for rank in range(tasks))


def test_patterns_of_four():
    assert partners("pairs", 0, 0, 4) == ((1,), (3,))
    assert partners("pairs", 0, 1, 4) == ((2,), (2,))
    assert partners("all-to-all", 1, 5, 4) == ((2, 3, 0), (2, 3, 0))
    assert partners("ring", 0, 0, 4) == ((1, 3), (1, 3))
    assert partners("ring", 0, 0, 2) == ((1,), (1,))
    assert partners("sweep", 3, 0, 4) == ((0,), (2,))
    assert partners("sweep", 3, 1, 4) == ((2,), (0,))
