"""From the rows of evidence to the conditions of a job: shares, and only of what concerns it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.conditions import conditions_elsewhere, conditions_of_job, conditions_of_run, summary
from emulator.fidelity.processor_use import TimeInterval
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.evidence import EvidenceRow, EvidenceSummary, HostSize, LinkFaultRow
from emulator.model.topology import Topology

HOST = HostSize(processors=2, memory_bytes=1000)
MINI = topology_named("mini")
TWO = ("amsterdam", "delft")


def row(part: str = "host", interval_s: float = 1.0, **cells: float) -> EvidenceRow:
    return EvidenceRow.model_validate({"time_s": 1.0, "host_interval_s": interval_s, "part": part, **cells})


def fault(**cells: object) -> LinkFaultRow:
    return LinkFaultRow.model_validate({"time_s": 1.0, "host_interval_s": 5.0, **cells})


def of_job(rows, faults=(), clusters=TWO, topology: Topology = MINI):
    found = conditions_of_job(rows, faults, HOST, topology, clusters)
    assert found is not None
    return found


def test_a_job_over_several_clusters_crosses_the_wide_area():
    assert of_job([row()]).crosses
    assert not of_job([row()], clusters=("delft",)).crosses


def test_other_work_before_and_after_an_execution_is_not_held_against_it():
    rows = [row(host_cpu_s=1.0, host_cpu_wait_s=0.5), row("delft", host_cpu_s=0.2)]
    busy = [
        usage.model_copy(update={"time_s": 2.0, "host_cpu_s": 2.0 if usage.part == "host" else 0.2}) for usage in rows
    ]
    execution = TimeInterval(0.0, 1.25, Dilation(1.0))
    found = conditions_of_job([*rows, *busy], (), HOST, MINI, TWO, execution)
    assert found is not None
    assert found.other_cpu_share == pytest.approx((0.8 + 0.25 * 1.8) / 2.5)
    assert found.host_duration_s == 2.0


@given(st.lists(st.tuples(st.floats(0.1, 5), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_shares_are_of_the_time_looked_at_and_between_nothing_and_all_of_it(looks):
    rows = [row(interval_s=s, host_cpu_wait_s=s * wait, host_io_wait_s=s * disk) for s, wait, disk in looks]
    found = of_job(rows)
    assert found.host_duration_s == pytest.approx(sum(s for s, _, _ in looks))
    assert min(wait for _, wait, _ in looks) - 1e-9 <= found.cpu_pressure <= max(wait for _, wait, _ in looks) + 1e-9
    assert 0 <= found.io_pressure <= 1 + 1e-9
    assert found.memory_pressure is None


def test_only_containers_of_the_job_the_router_and_the_broker_can_throttle_it():
    rows = [row(interval_s=10), row("leiden", 10, host_throttled_s=5), row("wan", 10, host_throttled_s=1)]
    found = of_job(rows)
    assert (found.throttled_part, found.throttled_share) == ("wan", 0.1)
    assert of_job(rows, clusters=("leiden",)).throttled_part == "leiden"
    whole = conditions_of_run(rows, (), HOST)
    assert whole is not None
    assert whole.throttled_part == "leiden"


def test_the_container_that_stood_still_longest_is_named():
    rows = [row(interval_s=10), row("delft", 10, host_stopped_s=1), row("wan", 10, host_stopped_s=0.4)]
    found = of_job(rows)
    assert (found.stopped_part, found.stopped_share) == ("delft", 0.1)


def test_a_container_held_back_on_both_processors_at_once_stood_still_no_longer_than_the_time_there_was():
    assert of_job([row(), row("delft", host_throttled_s=1.6)]).throttled_share == 1


def test_timeouts_and_drops_count_where_the_job_crossed_and_nothing_was_asked_to_be_lost():
    rows = [
        row(),
        row("amsterdam", timeouts=3),
        row("delft", timeouts=1),
        row("leiden", timeouts=9),
    ]
    faults = [
        fault(source="amsterdam", target="delft", unasked_drops=2),
        fault(source="delft", unasked_drops=1),
        fault(source="delft", target="leiden", unasked_drops=50, changed="delft to leiden: netem delay 0.1 to 0.2"),
    ]
    found = of_job(rows, faults)
    assert (found.timeouts, found.unasked_drops, found.changed_links) == (4, 3, ())
    alone = of_job(rows, faults, clusters=("delft", "delft"))
    assert (alone.timeouts, alone.unasked_drops) == (None, None)
    assert of_job(rows, faults, clusters=("delft", "leiden")).changed_links == (faults[2].changed,)


def test_timeouts_are_unexplained_where_they_outnumber_what_full_access_links_dropped():
    rows = [row(), row("amsterdam", timeouts=7), row("delft", timeouts=1)]
    full = [fault(source="amsterdam", dropped=4, unasked_drops=0), fault(target="delft", dropped=1, unasked_drops=0)]
    on_the_way = fault(source="amsterdam", target="delft", dropped=90, unasked_drops=90)
    assert of_job(rows, [*full, on_the_way]).unexplained_timeouts == 3
    assert of_job(rows, [fault(source="amsterdam", dropped=20, unasked_drops=0)]).unexplained_timeouts == 0
    assert of_job(rows, full, clusters=("delft",)).unexplained_timeouts is None


def test_another_job_s_full_link_explains_the_timeouts_of_a_cluster_that_both_use():
    rows = [row(), row("delft", timeouts=6), row("leiden", timeouts=9)]
    full_elsewhere = fault(target="leiden", dropped=165, unasked_drops=0)
    assert of_job(rows, [full_elsewhere]).unexplained_timeouts == 0
    assert of_job(rows, [fault(source="leiden", target="delft", dropped=165)]).unexplained_timeouts == 6


def test_datagrams_count_that_left_a_cluster_and_brought_no_answer():
    asked_a_name = row("amsterdam", segments=300, datagrams_sent=6, datagrams_received=6)
    flooded = row("amsterdam", segments=300, datagrams_sent=90, datagrams_received=0)
    other = row("delft", segments=100, datagrams_sent=0, datagrams_received=84)
    assert of_job([row(), asked_a_name, other]).datagram_share == 0
    assert of_job([row(), asked_a_name, flooded, other]).datagram_share == pytest.approx(90 / 700)
    assert of_job([row(), row("amsterdam"), other]).datagram_share is None


@pytest.mark.parametrize("impairment", [{"loss": 0.01}, {"jitter_s": 0.001}])
def test_where_loss_or_jitter_is_asked_for_timeouts_are_not_held_against_a_job(impairment):
    lossy = MINI.model_copy(update={"links": tuple(link.model_copy(update=impairment) for link in MINI.links)})
    rows = [row(), row("amsterdam", timeouts=3), row("delft", timeouts=1)]
    assert of_job(rows, topology=lossy).timeouts is None


def test_the_least_memory_and_the_slowest_write_count():
    rows = [row(memory_available_bytes=500, host_write_s=0.2), row(memory_available_bytes=30), row(swapped_pages=7)]
    found = of_job(rows)
    assert (found.least_memory_share, found.host_write_max_s, found.swapped_pages) == (0.03, 0.2, 7)


def test_each_host_is_held_against_a_job_by_its_own_counts():
    """The second host has four processors, on which others used 1.5 of 2 s; on the first the testbed was alone."""
    size, elsewhere, execution = HostSize(4, 2000), {"delft": "right"}, TimeInterval(0.0, 1.0, Dilation(1.0))
    rows = [
        row(host_cpu_s=0.5, host_cpu_wait_s=0.0, memory_available_bytes=500),
        row("host:right", host_cpu_s=2.0, host_cpu_wait_s=0.4, memory_available_bytes=200),
        row("amsterdam", host_cpu_s=0.5),
        row("delft", host_cpu_s=0.5, host_throttled_s=0.1),
    ]
    here = conditions_of_job(rows, (), HOST, MINI, TWO, execution, elsewhere)
    there = conditions_elsewhere(rows, "right", size, elsewhere, execution)
    assert here is not None
    assert there is not None
    assert (here.host, here.testbed_cpu_share, here.other_cpu_share, here.least_memory_share) == ("", 0.25, 0.0, 0.5)
    assert (here.throttled_part, here.throttled_share) == ("delft", pytest.approx(0.1))
    assert (there.host, there.testbed_cpu_share, there.other_cpu_share) == ("right", 0.125, 0.375)
    assert (there.cpu_pressure, there.least_memory_share, there.crosses) == (0.4, 0.1, False)
    assert conditions_elsewhere(rows, "left", size, elsewhere, execution) is None
    whole = conditions_of_run(rows, (), HOST, elsewhere)
    assert whole is not None
    assert whole.other_cpu_share == 0.0


def test_without_a_look_there_are_no_conditions_and_the_summary_says_what_was_missing():
    assert conditions_of_job([], [], HOST, MINI, TWO) is None
    assert summary(None, 0, ["anything"]) == EvidenceSummary(looks=0, host_duration_s=0.0, missing=("anything",))


def test_the_summary_of_a_run_holds_what_was_found():
    rows = [row(host_cpu_s=1.0, host_cpu_wait_s=0.25), row("delft", host_cpu_s=0.5)]
    found = summary(
        conditions_of_run(rows, [fault(target="delft", changed="delft down: tbf rate 1 to 2")], HOST), 1, []
    )
    assert (found.testbed_cpu_share, found.other_cpu_share, found.cpu_pressure) == (0.25, 0.25, 0.25)
    assert found.changed_links == ("delft down: tbf rate 1 to 2",)
