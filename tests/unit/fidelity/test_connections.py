"""Messages that cross the wide area together, each over a TCP connection of its own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.fidelity.iteration.connections import arrivals_s
from emulator.fidelity.iteration.wide_area import FarMessage
from emulator.model.catalogue import topology_named
from emulator.model.link_queues import LEAST_TIMEOUT_S
from emulator.model.units import rate_bytes_per_s

DAS2 = topology_named("das2-2006")
NAMES = ("leiden", "delft", "utrecht", "amsterdam")
DELAY_S = DAS2.path("leiden", "delft").delay_s
RATE = rate_bytes_per_s(100)
AT_ONCE_S = 0.001
"""Messages that are sent together leave within this time."""


def together(count: int, size_bytes: int, source: int = 1, target: int = 0) -> list[FarMessage]:
    return [FarMessage(0.0, source, target, size_bytes)] * count


def last_s(messages: list[FarMessage], *, opened: bool = True) -> float:
    return max(arrivals_s(DAS2, NAMES, messages, opened=opened))


def test_a_message_takes_both_links_and_the_path_between_them():
    assert last_s(together(1, 1000)) == pytest.approx(DELAY_S + 2 * 1090 / RATE, abs=AT_ONCE_S)


def test_a_connection_is_opened_in_two_round_trips():
    opening_s = last_s(together(1, 1000), opened=False) - last_s(together(1, 1000))
    assert opening_s == pytest.approx(4 * DELAY_S)


def test_few_messages_share_the_link():
    """Two frames of each of 16 connections fit into the queue of 64."""
    assert last_s(together(16, 14_000)) == pytest.approx(16 * 14_740 / RATE + DELAY_S, rel=0.1)


def test_what_does_not_fit_into_the_nodes_own_queue_is_tried_again_after_the_least_timeout():
    assert last_s(together(48, 14_000)) > LEAST_TIMEOUT_S > last_s(together(24, 14_000))


def test_two_clusters_that_send_to_a_third_fill_its_queue():
    assert last_s(together(24, 14_000) + together(24, 14_000, source=2)) > LEAST_TIMEOUT_S


def test_clusters_that_send_one_after_the_other_do_not():
    later = [FarMessage(0.05, 2, 0, 14_000)] * 24
    assert last_s(together(24, 14_000) + later) < LEAST_TIMEOUT_S


def test_a_window_of_ten_packets_waits_for_its_first_acknowledgement():
    ten_s, eleven_s = last_s(together(1, 10 * 1448 - 24)), last_s(together(1, 11 * 1448 - 24))
    assert eleven_s - ten_s > DELAY_S


def test_nothing_takes_no_time():
    assert arrivals_s(DAS2, NAMES, [], opened=True) == []


MESSAGES = st.lists(
    st.builds(FarMessage, st.floats(0.0, 0.5), st.integers(1, 3), st.just(0), st.integers(1, 200_000)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60)
@given(messages=MESSAGES, opened=st.booleans())
def test_every_message_arrives_and_none_before_the_links_could_carry_it(messages, opened):
    found_s = arrivals_s(DAS2, NAMES, messages, opened=opened)
    assert found_s == arrivals_s(DAS2, NAMES, messages, opened=opened)
    for message, arrived_s in zip(messages, found_s, strict=True):
        delay_s = DAS2.path(NAMES[message.source], NAMES[0]).delay_s
        assert arrived_s >= message.sent_s + delay_s + message.size_bytes / RATE
    first_s = min(message.sent_s for message in messages)
    assert max(found_s) >= first_s + sum(message.size_bytes for message in messages) / RATE
