"""A recorded background load in a simulation: it holds what was recorded, as far as processors are idle."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.background import BandWatch
from emulator.model.background import ProcessorBand
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate
from emulator.simulator.background import BackgroundChange
from emulator.simulator.replayed_background import ReplayedBackground


def replayed(
    *record: tuple[float, int, int, int], clusters: int = 2, least: int = 0, together: int = 0
) -> ReplayedBackground:
    watch = BandWatch(ProcessorBand(least, 8), settling_s=0.0)
    made = ReplayedBackground([BackgroundChange(*change) for change in record], [8] * clusters, watch, together)
    made.keep_changes()
    return made


def job(number: int, arrival_s: float, service_s: float, *sizes: int) -> StreamJob:
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind.NON_FIXED, sizes))


def test_processors_are_held_as_recorded_and_those_that_are_taken_are_waited_for():
    """The load has all 8 processors of cluster 0 from 5 on; from 12 on it has 2, and a job gets the 3 that it needs."""
    load = replayed((0, 0, 2, 0), (5, 0, 5, 3), (12, 0, 0, 2))
    jobs = [job(1, 1, 9, 4), job(2, 6, 20, 8, 3)]
    result = simulate(jobs, clusters=[8, 8], queue="gs", policy="wf", background=load, keep_jobs=True)
    first, second = sorted(result.finished)
    assert (first.start_s, first.clusters) == (1, (1,))
    assert (second.start_s, second.clusters) == (12, (1, 0))
    assert load.next_s() == math.inf
    assert [change for change in load.changes() if change.cluster == 0] == [
        (0.0, 0, 0, 0), (0, 0, 2, 0), (5, 0, 5, 3), (12, 0, 0, 2)
    ]  # fmt: skip


def test_what_is_lacking_comes_before_the_grid_when_processors_are_given_back():
    load, idle = replayed((3, 0, 4, 2), clusters=1), [5]
    load.advance(3, idle)
    assert (idle, load.changes()[-1]) == ([0], (3, 0, 3, 2))
    idle[0] += 4
    load.start_local_jobs(4, idle)
    assert idle == [3]
    load.tend(4, idle)
    assert load.changes()[-1] == (4, 0, 4, 2)


def test_dummy_jobs_without_processors_are_elsewhere_until_there_are_some():
    """Cluster 0 lacks 6 of 8: its local users wait for 2 of them, the 4 dummy jobs are where the load is least."""
    load, idle = replayed((3, 0, 4, 4), clusters=3, together=2), [2, 3, 8]
    load.advance(3, idle)
    assert idle == [0, 1, 6]
    assert [change for change in load.changes() if change.time_s == 3] == [(3, 0, 0, 2), (3, 1, 2, 0), (3, 2, 2, 0)]
    idle[0] += 3
    load.tend(4, idle)
    assert idle == [0, 3, 6]
    idle[0] += 3
    load.tend(5, idle)
    assert idle == [0, 3, 8]
    assert load.changes()[-2:] == [(5, 0, 4, 4), (5, 2, 0, 0)]


def test_a_load_that_finds_nothing_idle_anywhere_waits():
    load, idle = replayed((3, 0, 4, 0), clusters=2, together=2), [1, 1]
    load.advance(3, idle)
    assert idle == [0, 1]
    assert load.changes()[-1] == (3, 1, 0, 0)


def test_the_band_is_watched_over_what_the_load_really_holds():
    load, idle = replayed((0, 0, 6, 0), clusters=1, least=6), [2]
    load.advance(0, idle)
    idle[0] += 10
    load.tend(5, idle)
    load.tend(10, idle)
    assert load.measures().share_in_band == 0.5


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1), st.integers(0, 4), st.integers(0, 4)), max_size=20),
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(1, 8)), max_size=15),
    st.integers(0, 2),
)
def test_no_processor_is_held_twice_and_every_job_runs(record, stays, together):
    load = replayed(*sorted(record), (51, 0, 0, 0), (51, 1, 0, 0), together=together)
    jobs = [job(number, *stay) for number, stay in enumerate(sorted(stays))]
    result = simulate(jobs, clusters=[8, 8], queue="gs", policy="wf", background=load, keep_jobs=True)
    assert len(result.finished) == len(jobs)
    for time_s in range(80):
        for cluster in (0, 1):
            grid = sum(end.components[0] for end in result.finished
                       if end.clusters == (cluster,) and end.placed_s <= time_s < end.finish_s)  # fmt: skip
            held = [change for change in load.changes() if change.cluster == cluster and change.time_s <= time_s]
            others = held[-1].dummy + held[-1].local if held else 0
            assert grid + others <= 8
