"""Background traffic of a testbed: what each cluster's sender is told, and how it sends."""

import os
import threading
import time
from types import SimpleNamespace

import pytest

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan import sender
from emulator.containers.wan.traffic import TrafficLoad, sender_plans
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.traffic import flows_of

MINI = topology_named("mini")


def test_a_sender_is_told_rates_of_the_host_and_who_only_receives_keeps_a_socket_open():
    handle = SimpleNamespace(addresses=AddressPlan(100))
    flows = flows_of(MINI, {"delft": 0.3})
    plans = sender_plans(handle, MINI, flows, Dilation(8))
    assert list(plans) == list(MINI.cluster_names)
    rate_mbit = 0.3 * MINI.cluster("delft").access_link.up_mbit / 3 / 8
    for stream in plans["delft"]["streams"]:
        assert stream["frames_per_s"] * 1514 * 8 / 1e6 == pytest.approx(rate_mbit)
    assert len(plans["delft"]["streams"]) == 3
    assert plans["leiden"]["payload_bytes"] + 14 + 20 == 1514
    assert plans["leiden"]["streams"][0]["peer"] == plans["delft"]["address"]


@pytest.fixture
def line(monkeypatch):
    """A network that notes what is sent, and a standard input that `end` ends."""
    reading, writing = os.pipe()
    seen = SimpleNamespace(sent=[], end=lambda: os.close(writing), stands_still_s=0.0)

    class Line:
        def __init__(self, *arguments):
            pass

        def setsockopt(self, *arguments):
            pass

        def bind(self, address):
            seen.bound = address

        def setblocking(self, blocking):
            pass

        def sendto(self, payload, address):
            if seen.stands_still_s:
                time.sleep(seen.stands_still_s)
                seen.stands_still_s = 0.0
            seen.sent.append((time.monotonic(), len(payload), address[0]))

    monkeypatch.setattr(sender.socket, "socket", Line)
    with os.fdopen(reading) as standard_input:
        monkeypatch.setattr(sender.sys, "stdin", standard_input)
        yield seen


def test_a_sender_keeps_its_rates_until_its_input_ends(line):
    threading.Timer(0.6, line.end).start()
    due, sent = sender.run("10.0.0.1", ["10.0.1.1", "10.0.2.1"], [200.0, 50.0], 1480)
    to = [peer for _, _, peer in line.sent]
    assert {length for _, length, _ in line.sent} == {1480}
    assert to.count("10.0.1.1") / to.count("10.0.2.1") == pytest.approx(4.0, rel=0.2)
    assert sent == len(line.sent)
    assert sent == pytest.approx(due, abs=0.2 * due)


def test_a_standstill_is_followed_by_no_burst(line):
    line.stands_still_s = 0.8
    threading.Timer(1.2, line.end).start()
    due, sent = sender.run("10.0.0.1", ["10.0.1.1"], [200.0], 1480)
    assert due > sent
    assert sent <= (due / 200.0 - 0.8 + sender.LATEST_S) * 200.0 + 3
    assert TrafficLoad().missing_share == 0.0


def test_the_worst_sender_counts_and_one_that_ends_too_early_counts_as_nothing_sent():
    load = TrafficLoad()
    load.note('{"due": 100, "sent": 99}')
    load.note('{"due": 1000, "sent": 950}')
    assert load.missing_share == pytest.approx(0.05)
    load.note(None)
    assert load.missing_share == 1.0
