"""Who used the processors while a job executed: looks count by how much of them the execution covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.processor_use import TimeInterval, processor_use
from emulator.model.clock import Dilation
from emulator.model.evidence import EvidenceRow

PROCESSORS = 2
TWICE = Dilation(2.0)


def look(
    time_s: float,
    used_s: float,
    testbed_s: float = 0.0,
    *,
    interval_s: float = 1.0,
    wait_s: float | None = None,
    stolen_s: float | None = None,
) -> list[EvidenceRow]:
    """The rows of a look: the host's, with everything used, and a cluster's."""
    timestamp = {"time_s": time_s, "host_interval_s": interval_s}
    host = {"part": "host", "host_cpu_s": used_s, "host_cpu_wait_s": wait_s, "host_stolen_s": stolen_s}
    cluster = {"part": "amsterdam", "host_cpu_s": testbed_s}
    return [EvidenceRow.model_validate({**timestamp, **own}) for own in (host, cluster)]


def test_what_the_testbed_did_not_use_others_did() -> None:
    use = processor_use(look(1.0, used_s=1.5, testbed_s=0.5, stolen_s=0.5), PROCESSORS)
    assert use.testbed_cpu_share == pytest.approx(0.25)
    assert use.other_cpu_share == pytest.approx(0.5)
    assert use.stolen_cpu_share == pytest.approx(0.25)


def test_what_a_hypervisor_took_is_a_share_of_all_processors_and_one_of_the_cpu_time_wanted() -> None:
    use = processor_use(look(1.0, used_s=0.3, stolen_s=0.1), PROCESSORS)
    assert use.stolen_cpu_share == pytest.approx(0.05)
    assert use.stolen_wanted_share == pytest.approx(0.25)


def test_other_work_contends_at_the_looks_at_which_tasks_waited_for_a_processor() -> None:
    spare = look(1.0, used_s=1.0, wait_s=0.01)
    contended = look(2.0, used_s=2.0, testbed_s=0.4, wait_s=0.2)
    use = processor_use([*spare, *contended], PROCESSORS)
    assert use.other_cpu_share == pytest.approx(2.6 / 4)
    assert use.contending_cpu_share == pytest.approx(1.6 / 4)
    assert use.cpu_pressure == pytest.approx(0.105)


def test_busy_loops_for_a_part_of_a_job_contend_though_tasks_hardly_waited_in_all_of_it() -> None:
    quiet = [row for time in range(1, 10) for row in look(float(time), used_s=0.2, testbed_s=0.2, wait_s=0.0)]
    use = processor_use([*quiet, *look(10.0, used_s=2.0, testbed_s=0.2, wait_s=0.4)], PROCESSORS)
    assert use.cpu_pressure == pytest.approx(0.04)
    assert use.contending_cpu_share == pytest.approx(0.09)


def test_where_nobody_counts_who_waits_all_other_work_contends() -> None:
    use = processor_use(look(1.0, used_s=1.5, testbed_s=0.5), PROCESSORS)
    assert use.cpu_pressure is None
    assert use.contending_cpu_share == use.other_cpu_share


def test_what_is_not_counted_is_not_known() -> None:
    use = processor_use([EvidenceRow(time_s=1.0, host_interval_s=1.0, part="host")], PROCESSORS)
    assert {use.testbed_cpu_share, use.other_cpu_share, use.contending_cpu_share, use.cpu_pressure} == {None}


@pytest.mark.parametrize("containers", [{}, {"amsterdam": None, "wan": None}, {"amsterdam": None, "wan": 0.1}])
def test_where_containers_do_not_show_what_they_use_their_ranks_are_not_other_work(
    containers: dict[str, float | None],
) -> None:
    rows = [
        EvidenceRow(time_s=1.0, host_interval_s=1.0, part=part, host_cpu_s=used_s)
        for part, used_s in {"host": 1.5, "command": 0.2, **containers}.items()
    ]
    use = processor_use(rows, PROCESSORS)
    assert (use.testbed_cpu_share, use.other_cpu_share, use.contending_cpu_share) == (None, None, None)


@pytest.mark.parametrize(
    ("began_s", "ended_s", "covered"),
    [(0.0, 1.0, 1.0), (0.75, 1.0, 0.5), (0.0, 0.6, 0.2), (0.6, 0.7, 0.2), (1.5, 2.0, 0.0), (-3.0, 9.0, 1.0)],
)
def test_a_look_is_covered_by_how_much_of_its_interval_lies_within(began_s: float, ended_s: float, covered: float):
    assert TimeInterval(began_s, ended_s, TWICE).covers(1.0, 1.0) == pytest.approx(covered)


def test_starting_and_releasing_a_job_is_not_other_work_beside_it() -> None:
    starting = look(0.5, used_s=2.0, wait_s=0.9)
    executing = look(1.0, used_s=0.2, testbed_s=0.2, wait_s=0.0)
    releasing = look(1.5, used_s=2.0, wait_s=0.9)
    use = processor_use([*starting, *executing, *releasing], PROCESSORS, TimeInterval(0.5, 1.0, TWICE))
    assert (use.other_cpu_share, use.cpu_pressure) == (0.0, 0.0)


def test_looks_that_a_job_lies_between_count_in_full_if_it_took_no_time_at_all() -> None:
    use = processor_use(look(1.0, used_s=1.0), PROCESSORS, TimeInterval(0.7, 0.7, TWICE))
    assert use.other_cpu_share == pytest.approx(0.5)


@given(
    st.lists(st.tuples(st.floats(0.1, 5), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_shares_lie_between_those_of_the_looks(
    looks: list[tuple[float, float, float]], first: float, second: float
) -> None:
    rows, time_s = [], 0.0
    for interval_s, other, wait in looks:
        time_s += interval_s
        rows += look(time_s, used_s=PROCESSORS * interval_s * other, interval_s=interval_s, wait_s=interval_s * wait)
    interval = TimeInterval(time_s * min(first, second), time_s * max(first, second), Dilation(1.0))
    use = processor_use(rows, PROCESSORS, interval)
    assert use.other_cpu_share is not None
    assert use.contending_cpu_share is not None
    assert use.cpu_pressure is not None
    assert min(entry[1] for entry in looks) - 1e-6 <= use.other_cpu_share <= max(entry[1] for entry in looks) + 1e-6
    assert min(entry[2] for entry in looks) - 1e-6 <= use.cpu_pressure <= max(entry[2] for entry in looks) + 1e-6
    assert use.contending_cpu_share <= use.other_cpu_share + 1e-9
