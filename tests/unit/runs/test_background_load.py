"""A background load on clusters, told event by event what happens and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy
import pytest

from emulator.model.background import Background
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import RunFailed
from emulator.model.records import BackgroundRow
from emulator.model.topology import NodeUse, Topology
from emulator.runs.background_load import PATIENCE_HOST_S, REACTION_HOST_S, BackgroundLoad
from emulator.runs.local_users import Account, Ended, JobState, Listed, Started, parsed
from tests.unit.scripted_users import ScriptedUsers
from workloads.local_jobs import LocalJob

MINI = topology_named("mini")
SIZES = {cluster.name: cluster.processors for cluster in MINI.clusters}
"""Four clusters of 16 processors."""
AMSTERDAM = MINI.cluster_names[0]


@dataclass
class Driven:
    """A load whose reports are delivered when `settle` is called, at a time that the test states."""

    local: Sequence[LocalJob] = ()
    stated: dict[str, object] = field(default_factory=dict)
    dilation: float = 1.0
    grid_from_lists: bool = False
    topology: Topology = MINI
    rows: list[BackgroundRow] = field(default_factory=list)
    reports: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        background = validate(
            {"band": [0.25, 0.5], "dummy": {"sizes": [1, 2, 4]}, **self.stated}, Background, source="background"
        )
        self.users = ScriptedUsers(dict(SIZES))
        self.users.open(lambda cluster, line: self.reports.append((cluster, line or "")))
        self.load = BackgroundLoad(
            background, self.topology, iter(self.local), numpy.random.default_rng(1), self.users,
            Dilation(self.dilation), 60.0, self.rows.append, self.grid_from_lists,
        )  # fmt: skip

    def settle(self, time_s: float) -> None:
        """Deliver the reports so far, and those that follow from them."""
        while self.reports:
            cluster, line = self.reports.pop(0)
            self.load.note_report(cluster, parsed(cluster, line), time_s)

    def begun(self) -> Driven:
        self.load.advance(0.0)
        self.settle(0.0)
        return self

    @property
    def held(self) -> int:
        return sum(sum(jobs.values()) for jobs in self.users.running.values())


def test_an_idle_testbed_is_filled_to_the_middle_of_the_band_with_dummy_jobs():
    driven = Driven().begun()
    assert 24 <= driven.held <= 28
    assert driven.load.load == driven.held
    assert {account for _, _, account, _, _ in driven.users.submitted} == {Account.DUMMY}


def test_dummy_jobs_that_have_not_started_yet_are_not_submitted_again():
    driven = Driven()
    driven.load.advance(0.0)
    submitted = len(driven.users.submitted)
    driven.load.advance(1.0)
    assert len(driven.users.submitted) == submitted


@pytest.mark.parametrize("dilation", [1.0, 18.0])
def test_dummy_jobs_whose_processors_others_took_are_cancelled_and_others_sent_where_processors_are_idle(dilation):
    driven = Driven(dilation=dilation)
    taken = MINI.cluster_names[:2]
    for cluster in taken:
        driven.users.processors[cluster] = 0
    driven.load.advance(0.0)
    driven.settle(0.0)
    assert driven.held < 16
    for cluster in taken:
        assert driven.users.waiting[cluster]
        driven.load.note_grid(cluster, 16, 0.0)
    patience_s = PATIENCE_HOST_S / dilation
    assert driven.load.next_due_s == pytest.approx(patience_s)
    driven.load.advance(patience_s - 0.01)
    assert driven.held < 16
    driven.load.advance(patience_s)
    driven.settle(patience_s)
    assert 24 <= driven.held <= 32
    assert not any(driven.users.waiting[cluster] for cluster in taken)


def test_a_dummy_job_that_ends_is_replaced_once_the_load_is_below_the_band():
    driven = Driven().begun()
    while driven.held >= 16:
        cluster = max(SIZES, key=lambda name: len(driven.users.running[name]))
        driven.users.end(cluster, next(iter(driven.users.running[cluster])))
        before = driven.held
    assert before < 16
    driven.settle(10.0)
    assert driven.held >= 24


@pytest.mark.parametrize("dilation", [0.5, 8.0])
def test_a_dummy_job_is_replaced_before_it_ends_so_that_the_load_never_leaves_its_band(dilation):
    driven = Driven(stated={"dummy": {"sizes": [1, 2, 4], "lengths": {"low_s": 100, "high_s": 110}}}, dilation=dilation)
    driven.begun()
    due_s = driven.load.next_due_s
    reaction_s = REACTION_HOST_S / dilation
    assert 100 - reaction_s <= due_s < 110 - reaction_s
    held_before = driven.held
    while driven.held == held_before:
        driven.load.advance(driven.load.next_due_s)
        driven.settle(due_s)
    assert held_before < driven.held <= 32


def test_where_the_grid_holds_all_else_a_dummy_job_goes_on_before_it_would_end():
    lengths = {"dummy": {"sizes": [4], "lengths": {"low_s": 100, "high_s": 110}}}
    driven = Driven(stated=lengths, dilation=2.0).begun()
    while driven.held > 16:
        cluster = max(SIZES, key=lambda name: len(driven.users.running[name]))
        driven.users.end(cluster, next(iter(driven.users.running[cluster])))
        driven.settle(10.0)
    for cluster, jobs in driven.users.running.items():
        driven.load.note_grid(cluster, SIZES[cluster] - sum(jobs.values()), 20.0)
    submitted = len(driven.users.submitted)
    due_s = driven.load.next_due_s
    driven.load.advance(due_s)
    assert len(driven.users.submitted) == submitted
    ((cluster, job, host_length_s),) = driven.users.prolonged
    assert job in driven.users.running[cluster]
    assert 200 <= host_length_s <= 220
    assert driven.load.next_due_s > due_s


def test_a_dummy_job_that_is_being_killed_is_not_waited_for():
    driven = Driven([LocalJob(50.0, cluster, 8, 900.0) for cluster in range(4)]).begun()
    driven.load.advance(50.0)
    assert driven.load.next_due_s > 50.0


def test_a_local_job_above_the_band_has_dummy_jobs_killed():
    local = [LocalJob(50.0, cluster, 8, 100.0) for cluster in range(3)]
    driven = Driven(local).begun()
    assert driven.load.next_due_s == 50.0
    driven.load.advance(50.0)
    driven.settle(50.0)
    assert 16 <= driven.held <= 32
    names = {name for jobs in driven.users.running.values() for name in jobs}
    assert len([name for name in names if name.startswith("local-")]) == 3


def test_lengths_are_dilated():
    driven = Driven([LocalJob(0.0, 0, 2, 30.0)], dilation=4.0).begun()
    lengths_s = {account: host_length_s for _, _, account, _, host_length_s in driven.users.submitted}
    assert lengths_s[Account.LOCAL] == 120.0
    assert 4 * 120 <= lengths_s[Account.DUMMY] <= 4 * 600


def test_dummy_jobs_are_not_sent_where_the_grids_jobs_are():
    driven = Driven()
    # Told of one cluster after another, it would fill the load before it knows of the last.
    driven.load._grid = [0 if cluster == AMSTERDAM else processors for cluster, processors in SIZES.items()]
    driven.begun()
    assert {cluster for cluster, *_ in driven.users.submitted} == {AMSTERDAM}
    assert driven.held == SIZES[AMSTERDAM]


def test_a_row_is_written_for_each_change_of_a_cluster_and_for_no_other():
    driven = Driven().begun()
    first = {row.cluster: row for row in driven.rows}
    assert set(first) == set(SIZES)
    count = len(driven.rows)
    driven.load.advance(5.0)
    assert len(driven.rows) == count
    driven.load.note_grid(AMSTERDAM, 4, 7.0)
    assert driven.rows[count:] == [
        first[AMSTERDAM].model_copy(update={"time_s": 7.0, "grid_processors": 4}),
    ]


def test_the_rows_of_a_cluster_never_go_back_when_a_report_comes_late():
    driven = Driven()
    driven.load.advance(0.0)
    driven.load.note_grid(AMSTERDAM, 2, 10.5)
    driven.settle(10.2)
    times_s = [row.time_s for row in driven.rows if row.cluster == AMSTERDAM]
    assert len(times_s) > 1
    assert times_s == sorted(times_s)


def test_the_share_in_the_band_is_that_of_what_runs():
    driven = Driven()
    driven.load.advance(0.0)
    driven.reports, later = [], driven.reports
    driven.load.advance(80.0)
    driven.reports = later
    driven.settle(80.0)
    assert driven.load.measures(100.0).share_in_band == pytest.approx(20 / 40)


def test_local_jobs_above_the_band_with_no_dummy_job_left_make_the_run_void():
    local = [LocalJob(time_s, cluster, 8, 500.0) for time_s in (50.0, 100.0) for cluster in range(4)]
    driven = Driven(local).begun()
    for time_s in (50.0, 100.0):
        driven.load.advance(time_s)
        driven.settle(time_s)
    assert {name.split("-")[0] for jobs in driven.users.running.values() for name in jobs} == {"local"}
    assert not driven.load.measures(160.0).is_void
    assert driven.load.measures(161.0).is_void


def test_a_job_whose_end_was_never_reported_is_missed_in_the_next_list():
    driven = Driven().begun()
    for cluster in SIZES:
        for job in list(driven.users.running[cluster]):
            driven.users.end(cluster, job, silently=True)
    assert driven.load.load >= 24
    driven.load.ask()
    driven.settle(20.0)
    assert driven.load.load == driven.held
    assert driven.held >= 16


def test_a_job_submitted_after_a_list_was_asked_for_is_not_missed_in_it():
    driven = Driven().begun()
    driven.load.ask()
    lists, driven.reports = driven.reports, []
    for cluster in SIZES:
        for job in list(driven.users.running[cluster]):
            driven.users.end(cluster, job)
    driven.settle(10.0)
    held = driven.load.load
    driven.reports = lists
    driven.settle(11.0)
    assert driven.load.load == held


def test_without_events_of_the_grid_its_use_is_taken_from_the_lists():
    driven = Driven(grid_from_lists=True).begun()
    driven.users.grid[AMSTERDAM] = 6
    driven.load.ask()
    driven.settle(5.0)
    last = {row.cluster: row.grid_processors for row in driven.rows}
    assert last == {cluster: 6 if cluster == AMSTERDAM else 0 for cluster in SIZES}


def test_reports_are_read_from_lines():
    assert parsed("delft", "started 12.5 dummy-1") == Started(12.5, "dummy-1")
    assert parsed("delft", "ended 12.5 dummy-1") == Ended(12.5, "dummy-1")
    jobs = {"dummy-1": JobState.RUNNING, "local-2": JobState.PENDING}
    assert parsed("delft", "listed 12.5 7 30 dummy-1:R local-2:PD") == Listed(12.5, 7, 30, jobs)
    assert parsed("delft", "listed 12.5 7 30") == Listed(12.5, 7, 30, {})


@pytest.mark.parametrize("line", ["", "started", "started now dummy-1", "listed 1 2", "listed 1 2 3 x:F", "gone 1 x"])
def test_what_is_no_report_is_said(line):
    with pytest.raises(RunFailed, match=r"Cluster 'delft': its local users reported .* which is no report"):
        parsed("delft", line)


def test_a_job_that_slurm_refuses_is_said_with_its_reason():
    with pytest.raises(RunFailed, match=r"'delft' refused the background job 'dummy-1' \(sbatch: error: no\)"):
        parsed("delft", "refused 1 dummy-1 sbatch: error: no")


def test_on_exclusive_nodes_a_job_of_one_processor_is_submitted_as_such_and_counts_as_a_node():
    topology = MINI.model_copy(update={"nodes": NodeUse.EXCLUSIVE})
    driven = Driven([LocalJob(0.0, 0, 3, 900.0)], {"dummy": {"sizes": [1]}}, topology=topology).begun()
    assert {size for _, _, account, size, _ in driven.users.submitted if account is Account.DUMMY} == {1}
    assert [size for _, _, account, size, _ in driven.users.submitted if account is Account.LOCAL] == [3]
    latest = {row.cluster: row for row in driven.rows}
    assert latest[AMSTERDAM].local_processors == 4
    assert sum(row.dummy_processors + row.local_processors for row in latest.values()) == driven.load.load == 28
    # Twelve dummy jobs of one processor hold 24, the middle of the band.
    assert len(driven.users.submitted) == 13
