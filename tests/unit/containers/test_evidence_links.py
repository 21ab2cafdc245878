"""What tc says of links: which link a queue is, what it lost that nobody asked for, and that it was changed."""

from __future__ import annotations

import json
import socket
import struct
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.containers.telemetry.consoles import Console
from emulator.containers.telemetry.link_counts import LinkCount, delay_links, edge_links, parsed_queues
from emulator.model.errors import TestbedNotUp

EDGE = [
    {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "options": {}, "packets": 9, "drops": 1},
    {"kind": "tbf", "handle": "1:", "dev": "eth1", "root": True, "packets": 70, "drops": 2,
     "options": {"rate": 312500, "burst": 3028, "lat": 300000}},
    {"kind": "ingress", "handle": "ffff:", "dev": "eth1", "parent": "ffff:fff1", "options": {}},
    {"kind": "tbf", "handle": "1:", "dev": "ifb0", "root": True, "packets": 60, "drops": 0,
     "options": {"rate": 312500, "burst": 3028, "lat": 300000}},
]  # fmt: skip


def line(target: int, band: int, delay: float, packets: int = 0, drops: int = 0, **options: object) -> dict:
    return {"kind": "netem", "dev": f"site{target}", "parent": f"1:{band:x}", "packets": packets, "drops": drops,
            "options": {"limit": 1000, "delay": {"delay": delay, "jitter": 0}, **options}}  # fmt: skip


def test_a_clusters_links_are_its_shaped_queues():
    up, down = edge_links("delft", EDGE)
    assert (up.source, up.target, up.packets, up.dropped) == ("delft", None, 70, 2)
    assert (down.source, down.target, down.packets, down.dropped) == (None, "delft", 60, 0)


def test_a_delay_line_is_found_by_its_targets_device_and_its_sources_band():
    queues = [
        line(0, 1, 0.016),
        line(0, 2, 0.032),
        line(1, 1, 0.064),
        line(1, 2, 0.1),
        line(2, 1, 0.2),
        line(2, 2, 0.3),
    ]
    found = {
        delay_link.shown: delay_link.program["netem delay"]
        for delay_link in delay_links(["a", "b", "c"], queues)
        if delay_link.program
    }
    assert found == {
        "b to a": "0.016", "c to a": "0.032", "a to b": "0.064", "c to b": "0.1", "a to c": "0.2", "b to c": "0.3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (line(1, 1, 0.064), "a to b: netem delay 0.016 to 0.064"),
        (line(1, 1, 0.016, **{"loss-random": {"loss": 0.05}}), "a to b: netem loss-random loss none to 0.05"),
        (None, "a to b: netem delay 0.016 to none"),
    ],
)
def test_a_link_that_was_programmed_anew_is_named_with_what_changed(changed, what):
    (first,) = [delay_link for delay_link in delay_links(["a", "b"], [line(1, 1, 0.016)]) if delay_link.source == "a"]
    (now,) = [
        delay_link for delay_link in delay_links(["a", "b"], [changed] if changed else []) if delay_link.source == "a"
    ]
    assert what in now.changed_since(first, first)
    assert now.fault_since(first, first, 1.0, 1.0).changed
    assert first.fault_since(first, first, 1.0, 1.0) is None


def test_packets_that_an_unshared_link_let_pass_are_no_change_of_its_program():
    def edge(passed: int) -> list[dict[str, object]]:
        options = {"r2q": 10, "default": "0", "direct_packets_stat": passed, "direct_qlen": 64}
        return [{"kind": "htb", "dev": "eth1", "root": True, "packets": 70, "drops": 2, "options": options}]

    (first, _), (now, _) = edge_links("delft", edge(0)), edge_links("delft", edge(5))
    assert (now.packets, now.dropped) == (70, 2)
    assert now.changed_since(first, first) == ""


def test_a_rate_changed_and_a_hook_removed_are_seen():
    up, down = edge_links("delft", EDGE)
    slower = json.loads(json.dumps(EDGE).replace("312500", "156250"))
    assert edge_links("delft", slower)[0].changed_since(up, up) == "delft up: tbf rate 312500 to 156250"
    unhooked = [queue for queue in EDGE if queue["kind"] != "ingress"]
    assert edge_links("delft", unhooked)[1].changed_since(down, down) == "delft down: hook ingress to none"


def test_a_change_that_was_taken_back_before_anybody_looked_is_known():
    change = "qdisc netem 11: dev site1 parent 1:1 limit 1000 delay 64ms"
    lines = [line(1, 1, 0.016), line(1, 2, 0.016), line(0, 1, 0.016)]
    before, after = (delay_links(["a", "b", "c"], lines, changes) for changes in ([], [change, change]))
    changed = [now.changed_since(then, then) for now, then in zip(after, before, strict=True)]
    assert [delay_link for delay_link in changed if delay_link] == [f"a to b: {change}"]
    # And is not held against what came after it.
    assert [now.changed_since(now, then) for now, then in zip(after, before, strict=True)] == [""] * 6


def test_a_change_of_what_all_paths_to_a_site_share_concerns_all_of_them():
    lines = [line(1, 1, 0.016), line(1, 2, 0.016), line(0, 1, 0.016)]
    (change,) = ["deleted filter dev site1 parent 1: protocol ip pref 1 u32"]
    changed = [delay_link.shown for delay_link in delay_links(["a", "b", "c"], lines, [change]) if delay_link.changes]
    assert changed == ["a to b", "c to b"]


def test_changes_at_an_edge_are_its_devices():
    up, down = edge_links(
        "delft", EDGE, ["qdisc tbf 1: dev ifb0 root rate 1Mbit", "qdisc tbf 1: dev eth1 root rate 2Mbit"]
    )
    assert up.changes == ("qdisc tbf 1: dev eth1 root rate 2Mbit",)
    assert down.changes == ("qdisc tbf 1: dev ifb0 root rate 1Mbit",)


def link(packets: int, dropped: int, loss: float = 0.0) -> LinkCount:
    return LinkCount("a", "b", {}, packets, dropped, loss)


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_without_loss_asked_for_every_drop_counts(packets, dropped):
    row = link(packets, dropped).fault_since(link(0, 0), link(0, 0), 1.0, 1.0)
    assert row is not None
    assert (row.unasked_drops, row.dropped, row.packets) == (dropped, dropped, packets)


@given(st.integers(1, 10**6), st.floats(0.001, 0.5))
def test_drops_that_the_loss_asked_for_explains_are_not_counted(offered, loss):
    dropped = round(offered * loss)
    assert link(offered - dropped, dropped).fault_since(link(0, 0), link(0, 0, loss), 1.0, 1.0) is None


def test_what_a_full_access_link_drops_is_recorded_and_belongs_to_it():
    before, after = (LinkCount("a", None, {}, packets, dropped) for packets, dropped in ((0, 0), (100, 7)))
    row = after.fault_since(before, before, 1.0, 1.0)
    assert row is not None
    assert (row.dropped, row.unasked_drops) == (7, 0)


def test_drops_well_beyond_the_loss_asked_for_are_counted():
    row = link(900, 100).fault_since(link(0, 0), link(0, 0, 0.01), 1.0, 1.0)
    assert row is not None
    assert 70 < row.unasked_drops < 90


def test_a_queue_made_anew_counts_from_nothing():
    assert link(5, 0).fault_since(link(1000, 50), link(0, 0), 1.0, 1.0) is None


def test_output_that_is_not_tcs_is_no_answer():
    assert parsed_queues("Cannot open netlink socket") is None
    assert parsed_queues(json.dumps(EDGE)) == EDGE


def frame(kind: int, content: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(content)) + content


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Console("mini-delft", ours, SimpleNamespace(close=lambda: None)), theirs
    ours.close()
    theirs.close()


def test_a_console_puts_an_answer_together_however_it_arrives(ends):
    console, theirs = ends
    console.ask()
    assert theirs.recv(10) == b"\n"
    whole = frame(1, b'[{"kind"') + frame(2, b"noise") + frame(1, b': "tbf"}]\n--end of') + frame(1, b" answer--\n")
    theirs.sendall(whole[:11])
    theirs.sendall(whole[11:])
    assert parsed_queues(console.answer()) == [{"kind": "tbf"}]


def test_a_console_whose_command_has_ended_says_so(ends):
    console, theirs = ends
    theirs.close()
    with pytest.raises(TestbedNotUp, match="mini-delft does not answer"):
        console.answer()
