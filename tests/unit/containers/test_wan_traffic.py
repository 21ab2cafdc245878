"""Background traffic of a testbed: what each cluster's sender is told, and how it sends."""

import json
import os
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan import sender
from emulator.containers.wan.sender import Stream
from emulator.containers.wan.traffic import TrafficLoad, sender_plans
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.traffic import flows_of

MINI = topology_named("mini")
CISNE = topology_named("cisne-shared")


def test_a_sender_is_told_rates_of_the_host_and_who_only_receives_keeps_a_socket_open():
    handle = SimpleNamespace(addresses=AddressPlan(100))
    flows = flows_of(MINI, {"delft": 0.3})
    plans = sender_plans(handle, MINI, flows, Dilation(8))
    assert list(plans) == list(MINI.cluster_names)
    rate_mbit = 0.3 * MINI.cluster("delft").access_link.up_mbit / 3 / 8
    for stream in plans["delft"]["streams"]:
        assert stream["frames_per_s"] * 1514 * 8 / 1e6 == pytest.approx(rate_mbit)
    assert len(plans["delft"]["streams"]) == 3
    (stream,) = plans["leiden"]["streams"]
    assert stream["payload_bytes"] + 14 + 20 == 1514
    assert (stream["peer"], stream["to_router"]) == (plans["delft"]["address"], False)


def test_what_users_of_a_cluster_that_is_alone_send_goes_to_its_router_in_small_frames():
    handle = SimpleNamespace(addresses=AddressPlan(100))
    ((name, plan),) = sender_plans(handle, CISNE, flows_of(CISNE, {}), Dilation(5)).items()
    (stream,) = plan["streams"]
    assert (name, stream["peer"], stream["to_router"]) == ("cisne", "10.100.128.2", True)
    assert stream["payload_bytes"] + 14 + 20 == 500
    assert stream["frames_per_s"] == pytest.approx(4500 / 500 / 5)


def test_a_cluster_without_users_keeps_a_socket_open_for_what_those_of_another_one_send():
    handle = SimpleNamespace(addresses=AddressPlan(100))
    (cisne,) = CISNE.clusters
    clusters = (cisne, cisne.model_copy(update={"name": "second", "local_users": {}}))
    topology = CISNE.model_copy(update={"clusters": clusters})
    plans = sender_plans(handle, topology, flows_of(topology, {}), Dilation(5))
    assert plans["second"] == {"address": "10.100.129.10", "streams": []}
    (stream,) = plans["cisne"]["streams"]
    assert (stream["peer"], stream["to_router"]) == ("10.100.129.10", False)


class Line:
    """A network that notes what is sent, and a standard input that `end` ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        reading, self._writing = os.pipe()
        self.standard_input = os.fdopen(reading)
        self.sent = []
        self.stands_still_s = 0.0
        line = self

        class Socket:
            def __init__(self, family, kind, protocol):
                self._protocol = protocol

            def setsockopt(self, *arguments):
                pass

            def bind(self, address):
                pass

            def setblocking(self, blocking):
                pass

            def sendto(self, payload, address):
                if line.stands_still_s:
                    time.sleep(line.stands_still_s)
                    line.stands_still_s = 0.0
                line.sent.append((time.monotonic(), len(payload), address[0], self._protocol))

        monkeypatch.setattr(sender.socket, "socket", Socket)
        monkeypatch.setattr(sender.sys, "stdin", self.standard_input)

    def end(self):
        os.close(self._writing)


@pytest.fixture
def begin_line(monkeypatch):
    """Begin a new line."""
    lines = []

    def begin():
        lines.append(Line(monkeypatch))
        return lines[-1]

    yield begin
    for line in lines:
        line.standard_input.close()


def test_a_sender_keeps_its_rates_until_its_input_ends(begin_line):
    for _ in range(10):
        line = begin_line()
        threading.Timer(0.6, line.end).start()
        due, sent = sender.run("10.0.0.1", [Stream("10.0.1.1", 200.0, 1480), Stream("10.0.2.1", 50.0, 1480)])
        assert {length for _, length, _, _ in line.sent} == {1480}
        assert sent == len(line.sent)
        to = [peer for _, _, peer, _ in line.sent]
        few_due = due - sent <= 0.2 * due
        # On a busy host the sender itself may have stood still.
        if few_due and to.count("10.0.1.1") / to.count("10.0.2.1") == pytest.approx(4.0, rel=0.2):
            return
    pytest.fail(f"In ten tries no sender kept its rates; the last one sent {sent} of {due:.0f}.")


def test_a_standstill_is_followed_by_no_burst(begin_line):
    for _ in range(10):
        line = begin_line()
        line.stands_still_s = 0.8
        threading.Timer(1.2, line.end).start()
        due, sent = sender.run("10.0.0.1", [Stream("10.0.1.1", 200.0, 1480)])
        assert due > sent
        if sent <= (due / 200.0 - 0.8 + sender.LATEST_S) * 200.0 + 3:
            break
    else:
        pytest.fail(f"In ten tries each standstill was followed by a burst; the last one sent {sent} of {due:.0f}.")
    assert TrafficLoad().missing_share == 0.0


def test_the_worst_sender_counts_and_one_that_ends_too_early_counts_as_nothing_sent():
    load = TrafficLoad()
    load.note('{"due": 100, "sent": 99}')
    load.note('{"due": 1000, "sent": 950}')
    assert load.missing_share == pytest.approx(0.05)
    load.note(None)
    assert load.missing_share == 1.0


@pytest.mark.parametrize(
    ("due", "sent", "share"),
    [(0, 0, 0.0), (1, 0, 0.0), (3, 2, 0.0), (20, 18, 0.1), (100, 99, 0.0), (1000, 950, 0.05), (5, 0, 1.0)],
)
def test_a_single_frame_of_few_is_no_share(due, sent, share):
    load = TrafficLoad()
    load.note(json.dumps({"due": due, "sent": sent}))
    assert load.missing_share == pytest.approx(share)


def test_a_frame_is_missing_once_it_is_too_late_to_send_it():
    slow, fast = Stream("10.0.1.1", 0.5, 466), Stream("10.0.1.1", 200.0, 1480)
    assert (slow.latest_s, fast.latest_s) == (2.0, sender.LATEST_S)
    assert [slow.overdue(10.0, ended_s) for ended_s in (9.0, 12.0, 12.5, 16.0)] == [0, 0, 1, 2]
    assert [fast.overdue(10.0, ended_s) for ended_s in (9.0, 10.1)] == [0, 0]


def test_a_run_that_ends_before_a_frame_is_due_lacks_none(begin_line):
    line = begin_line()
    threading.Timer(0.1, line.end).start()
    due, sent = sender.run("10.0.0.1", [Stream("10.0.1.1", 0.001, 466)])
    assert due == sent


def test_frames_to_the_router_are_of_a_type_of_icmp_that_it_does_not_answer():
    payload = Stream("10.0.0.2", 1.0, 467, to_router=True).payload
    assert (len(payload), payload[:2]) == (467, bytes((253, 0)))
    assert int.from_bytes(payload[:2], "big") + int.from_bytes(payload[2:4], "big") == 0xFFFF, "a wrong checksum"
    assert not any(payload[4:])


def test_each_kind_of_peer_is_sent_its_protocol(begin_line):
    expected = {("10.0.1.1", sender.PROTOCOL), ("10.0.0.2", socket.IPPROTO_ICMP)}
    for _ in range(10):
        line = begin_line()
        threading.Timer(0.3, line.end).start()
        sender.run("10.0.0.1", [Stream("10.0.1.1", 100.0, 1480), Stream("10.0.0.2", 100.0, 466, to_router=True)])
        if {(peer, protocol) for _, _, peer, protocol in line.sent} == expected:
            return
    pytest.fail("In ten tries not both kinds were sent.")
