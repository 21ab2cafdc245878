"""Evidence of a run: written as it is gathered, found again for a job, and summed up; the lookout is scripted."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from emulator.containers.telemetry.counters import Counters
from emulator.containers.telemetry.link_counts import LinkCount
from emulator.measurement.extension import measure
from emulator.model import clock
from emulator.model.clock import REAL_TIME, Dilation, EmulatedClock
from emulator.model.errors import RunFailed
from emulator.model.evidence import EvidenceRow, HostSize, LinkCheck, LinkFaultRow
from emulator.model.underlay import Underlay
from emulator.model.units import rate_bytes_per_s
from emulator.runs.evidence import HOST_LEAST_INTERVAL_S, UNWRITTEN, Gathering
from emulator.runs.matrix import Matrix
from emulator.runs.run_directory import read_rows, read_run

TWO = ("amsterdam", "delft")
MATRIX = Matrix(
    applications=("poisson",), grids=(400,), processors=(16,), clusters=(1, 2), repeat=1, iterations=100, dilation=0.05
)


@dataclass
class Scripted:
    """A host whose counters grow as told from one look to the next."""

    missing: tuple[str, ...] = ("swapping",)
    hosts: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, HostSize] = field(default_factory=dict)
    grows_by: Counters = field(default_factory=lambda: Counters(host_cpu_s=0.2, killed_processes=0))
    delay: str = "0.016"
    now: Counters = field(default_factory=lambda: Counters(host_cpu_s=0.0, killed_processes=0))
    sent_bytes: int | None = None

    def look(self):
        grown = {name: getattr(self.now, name) + (getattr(self.grows_by, name) or 0)
                 for name in ("host_cpu_s", "killed_processes")}  # fmt: skip
        self.now = Counters(**grown)
        cluster = Counters(host_cpu_s=0.0, sent_bytes=self.sent_bytes, received_bytes=self.sent_bytes)
        others = {f"host:{name}": Counters(host_cpu_s=0.0, killed_processes=0) for name in self.sizes}
        return {"host": self.now, "amsterdam": cluster, "delft": cluster, **others}

    def links(self):
        return [LinkCount("amsterdam", "delft", {"netem delay": self.delay}, 10, 0)]

    @contextmanager
    def looking(self):
        yield self


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def observed(testbed, scripted):
    return replace(testbed, observed=scripted.looking)


def silent(progress):
    pass


def test_a_run_keeps_its_evidence_and_says_what_was_missing(observed, tmp_path):
    measure(observed, MATRIX, tmp_path / "run", silent)
    rows = read_rows(tmp_path / "run", EvidenceRow)
    assert {row.part for row in rows} == {"host", "amsterdam", "delft"}
    assert all(row.time_s >= 0 for row in rows)
    kept = read_run(tmp_path / "run").manifest.evidence
    assert kept is not None
    assert kept.looks == sum(1 for row in rows if row.part == "host") > 0
    assert kept.missing == ("swapping",)


def test_a_testbed_that_nobody_can_look_at_says_so(testbed, tmp_path):
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    kept = read_run(tmp_path / "run").manifest.evidence
    assert kept is not None
    assert (kept.looks, kept.missing) == (0, ("anything: nobody looked at this testbed",))
    assert measured.verdict.judgement == "valid"


def test_a_disturbance_reaches_the_job_its_cell_and_the_run(observed, broker, scripted, tmp_path):
    def disturbed(job):
        if len(job.specification.components) == 2:
            scripted.grows_by = Counters(host_cpu_s=0.0, killed_processes=2)
            scripted.delay = "0.064"
            time.sleep(2 * HOST_LEAST_INTERVAL_S)
        broker.finish(job)

    broker.on_submit = disturbed
    measured = measure(observed, MATRIX, tmp_path / "run", silent)
    single, double = read_run(tmp_path / "run").jobs
    assert single.verdict == "valid"
    assert double.verdict == "void"
    assert "a link was programmed anew meanwhile: amsterdam to delft: netem delay 0.016 to 0.064" in (
        double.verdict_reasons
    )
    assert "processes killed for want of memory" in double.verdict_reasons
    assert [cell.row.verdict for cell in measured.cells] == ["valid", "void"]
    assert measured.verdict.judgement == "void"
    assert read_rows(tmp_path / "run", LinkFaultRow)[0].target == "delft"


@pytest.mark.parametrize(("strangers_bytes", "verdict"), [(0, "valid"), (10**9, "void")])
def test_what_crossed_access_links_is_held_against_what_ranks_sent(
    observed, broker, scripted, tmp_path, strangers_bytes, verdict
):
    """The check of the links before the run sent much more than anybody since."""
    own_bytes = 10**8
    scripted.sent_bytes, scripted.grows_by = 10**12, Counters(host_cpu_s=0.0)

    def sending(job):
        if len(job.specification.components) == 2:
            time.sleep(2 * HOST_LEAST_INTERVAL_S)
            scripted.sent_bytes += own_bytes + strangers_bytes
        broker.finish(job)

    broker.on_submit = sending
    broker.more_results = lambda job: {"wide_area_bytes": [[own_bytes, own_bytes]] * 2}
    measure(observed, MATRIX, tmp_path / "run", silent)
    single, double = read_run(tmp_path / "run").jobs
    assert (single.verdict, double.verdict) == ("valid", verdict)
    assert ("traffic of others took" in double.verdict_reasons) is (strangers_bytes > 0)


@pytest.mark.parametrize(("stated", "is_valid"), [({}, False), ({"delft": 0.3}, True)])
def test_background_traffic_that_was_asked_for_is_nobody_elses(observed, broker, scripted, tmp_path, stated, is_valid):
    """Amsterdam, one of three that delft exchanges traffic with, carries a third of it."""
    own_bytes, scripted.sent_bytes, scripted.grows_by = 10**8, 0, Counters(host_cpu_s=0.0)

    def sending(job):
        began_s = time.monotonic()
        time.sleep(2 * HOST_LEAST_INTERVAL_S)
        bytes_per_s = rate_bytes_per_s(0.3 * observed.topology.cluster("delft").access_link.up_mbit) / 3
        lasted_s = Dilation(MATRIX.dilation).emulated_duration_s(time.monotonic() - began_s)
        scripted.sent_bytes += own_bytes + int(bytes_per_s * lasted_s)
        broker.finish(job)

    broker.on_submit = sending
    broker.more_results = lambda job: {"wide_area_bytes": [[own_bytes, own_bytes]] * 2}
    matrix = MATRIX.model_copy(update={"traffic": stated})
    measure(observed, matrix, tmp_path / "run", silent)
    _, double = read_run(tmp_path / "run").jobs
    assert (double.verdict == "valid") is is_valid, double.verdict_reasons


def test_a_clock_that_was_set_during_the_run_is_held_against_the_jobs_on_its_host(
    observed, scripted, wide_area, tmp_path
):
    scripted.hosts, scripted.sizes = {"delft": "right"}, {"right": HostSize(4, 1000)}

    def checked(dilation, moment):
        ahead_s = 0.0 if moment == "before" else 5.0
        underlay = Underlay(host_delay_s=0.0, host_jitter_s=0.0, host_clock_ahead_s=ahead_s, host_clock_bound_s=0.0)
        return LinkCheck(moment, underlays={"right": underlay}), []

    wide_area.check = checked
    measured = measure(observed, MATRIX, tmp_path / "run", silent)
    jobs = {job.clusters: job for job in read_run(tmp_path / "run").jobs}
    assert jobs[1].verdict == "valid"
    assert jobs[2].verdict == "void"
    assert "the clock of host right is known to 5000.0 ms" in jobs[2].verdict_reasons
    assert [cell.row.verdict for cell in measured.cells] == ["valid", "void"]


class Run:
    """A gathering into a directory, at real time."""

    def __init__(self, testbed, scripted, directory) -> None:
        self.gathering = Gathering(scripted, directory, testbed.topology, HostSize(2, 1000))
        self.host_origin_s = time.time()
        self.gathering.begin(EmulatedClock(REAL_TIME, self.host_origin_s))

    def now_s(self) -> float:
        return time.time() - self.host_origin_s


class Rows:
    """Takes rows as a run's directory does, unless its disk is full."""

    def __init__(self) -> None:
        self.rows = []
        self.is_full = False

    def append(self, row, *, waits=True) -> None:
        if self.is_full:
            raise RunFailed("evidence.csv: cannot be written (No space left on device).")
        self.rows.append(row)

    def write_through(self, row_type) -> bool:
        return bool(self.rows)


def test_a_job_is_judged_on_the_looks_of_its_own_time(testbed, scripted):
    run = Run(testbed, scripted, Rows())
    intervals = []
    for killed in (0, 3, 0):
        time.sleep(HOST_LEAST_INTERVAL_S)
        began_s = run.now_s()
        run.gathering.look_after(began_s)
        scripted.grows_by = Counters(host_cpu_s=0.1, killed_processes=killed)
        time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
        ended_s = run.now_s()
        run.gathering.look_after(ended_s)
        scripted.grows_by = Counters(host_cpu_s=0.1, killed_processes=0)
        intervals.append((began_s + 0.001, ended_s))
    found = [run.gathering.conditions(*interval, TWO) for interval in intervals]
    assert [evidence.killed_processes for (evidence,) in found] == [0, 3, 0]


def test_a_job_has_the_conditions_of_every_host_of_its_clusters_that_was_looked_at(testbed, scripted):
    scripted.hosts, scripted.sizes = {"amsterdam": "left", "delft": "right"}, {"right": HostSize(4, 1000)}
    run = Run(testbed, scripted, Rows())
    time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
    ended_s = run.now_s()
    run.gathering.look_after(ended_s)
    assert [found.host for found in run.gathering.conditions(0.0, ended_s, TWO)] == ["", "right"]
    assert [found.host for found in run.gathering.conditions(0.0, ended_s, ("amsterdam",))] == [""]
    assert run.gathering.hosts_of(TWO) == ["left", "right"]


def test_what_happened_while_a_host_did_not_answer_is_in_its_next_look(testbed, scripted):
    scripted.hosts, scripted.sizes = {"delft": "right"}, {"right": HostSize(4, 1000)}
    directory = Rows()
    run = Run(testbed, scripted, directory)
    for sizes in ({}, {}, {"right": HostSize(4, 1000)}):
        time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
        scripted.sizes = sizes
        run.gathering.look_after(run.now_s())
    (row,) = [row for row in directory.rows if row.part == "host:right"]
    whole = sum(row.host_interval_s for row in directory.rows if row.part == "host")
    assert row.host_interval_s == pytest.approx(whole, abs=0.05)


def test_a_job_on_a_host_that_did_not_answer_for_most_of_its_time_is_suspect(observed, broker, scripted, tmp_path):
    scripted.hosts, scripted.sizes = {"delft": "right"}, {"right": HostSize(4, 1000)}

    def unanswered(job):
        time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
        scripted.sizes = {}
        broker.finish(job)

    broker.on_submit = unanswered
    recording = replace(observed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("emulator.runs.recording.HOST_UNWATCHED_S", 0.0)
        measure(recording, MATRIX, tmp_path / "run", silent)
    reasons = {job.clusters: job.verdict_reasons for job in read_run(tmp_path / "run").jobs}
    assert "nobody watched what disturbed it on right" in reasons[2]


def test_a_job_on_a_host_that_nobody_looked_at_is_suspect(observed, scripted, tmp_path):
    scripted.hosts, scripted.sizes = {"delft": "right"}, {}
    measure(observed, MATRIX, tmp_path / "run", silent)
    reasons = {job.clusters: job.verdict_reasons for job in read_run(tmp_path / "run").jobs}
    assert "nobody watched what disturbed it on right" in reasons[2]


def test_what_no_job_under_way_can_ask_for_is_forgotten_and_stays_in_the_files(testbed, scripted):
    directory = Rows()
    run = Run(testbed, scripted, directory)
    ends = []
    for _ in range(3):
        time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
        ends.append(run.now_s())
        run.gathering.look_after(ends[-1])
    (whole,) = run.gathering.conditions(0.0, ends[-1], TWO)
    run.gathering.forget_before(ends[1])
    (rest,) = run.gathering.conditions(0.0, ends[-1], TWO)
    assert rest.host_duration_s < whole.host_duration_s
    last = (ends[1] + 0.05, ends[-1])
    assert len(run.gathering.conditions(*last, TWO)) == 1
    assert sum(1 for row in directory.rows if row.part == "host") == 3


@pytest.mark.timed
def test_looks_that_are_asked_for_are_not_too_close(testbed, scripted):
    directory = Rows()
    run = Run(testbed, scripted, directory)
    time.sleep(HOST_LEAST_INTERVAL_S)
    for _ in range(50):
        run.gathering.look_after(run.now_s())
    assert sum(1 for row in directory.rows if row.part == "host") == 1


def test_before_the_run_began_and_after_it_ended_nothing_is_seen(testbed, scripted):
    directory = Rows()
    gathering = Gathering(scripted, directory, testbed.topology, HostSize(2, 1000))
    gathering.look_after(0.0)
    assert gathering.conditions(0.0, 1.0, TWO) == ()
    gathering.begin(EmulatedClock(REAL_TIME, time.time()))
    gathering.end()
    rows = len(directory.rows)
    time.sleep(HOST_LEAST_INTERVAL_S)
    gathering.look_after(10.0)
    assert len(directory.rows) == rows


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_stands_in_the_evidence_and_moves_no_look(testbed, scripted, monkeypatch, step_s):
    monkeypatch.setattr(clock, "_STEADY", clock._SteadyClock())
    directory = Rows()
    run = Run(testbed, scripted, directory)
    time.sleep(HOST_LEAST_INTERVAL_S)
    read = time.time
    monkeypatch.setattr(time, "time", lambda: read() + step_s)
    run.gathering.look_after(HOST_LEAST_INTERVAL_S)
    (row,) = [row for row in directory.rows if row.part == "host"]
    assert row.host_clock_step_s == pytest.approx(step_s, abs=60)
    assert 0 < row.host_interval_s < 60
    (found,) = run.gathering.conditions(0.0, HOST_LEAST_INTERVAL_S, TWO)
    assert found.host_clock_step_s == row.host_clock_step_s


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_changes_nothing_of_what_crossed_the_links(testbed, scripted, monkeypatch, step_s):
    monkeypatch.setattr(clock, "_STEADY", clock._SteadyClock())
    scripted.sent_bytes = 0
    run = Run(testbed, scripted, Rows())
    scripted.sent_bytes = 1000
    assert run.gathering.carried_since(0.0, TWO)[0]["delft"] == (1000, 1000)
    began_s, read = run.now_s(), time.time
    monkeypatch.setattr(time, "time", lambda: read() + step_s)
    scripted.sent_bytes = 1500
    assert run.gathering.carried_since(began_s, TWO)[0]["delft"] == (500, 500)


def test_looks_that_found_no_room_are_written_with_the_next(testbed, scripted):
    directory, written = Rows(), []
    run = Run(testbed, scripted, directory)
    for is_full in (True, True, False):
        directory.is_full = is_full
        time.sleep(HOST_LEAST_INTERVAL_S + 0.01)
        run.gathering.look_after(run.now_s())
        written.append(sum(1 for row in directory.rows if row.part == "host"))
    assert written == [0, 0, 3]


def test_a_disk_that_stays_full_ends_no_looks_and_stands_among_what_is_missing(
    testbed, scripted, tmp_path, monkeypatch
):
    monkeypatch.setattr("emulator.runs.evidence.HOST_LOOK_INTERVAL_S", 0.02)
    directory = Rows()
    directory.path, directory.is_full = tmp_path, True
    gathering = Run(testbed, scripted, directory).gathering
    looks = threading.Thread(target=gathering.look_round)
    looks.start()
    time.sleep(0.2)
    assert looks.is_alive()
    gathering.end()
    looks.join()
    assert gathering.summary().missing == ("swapping", UNWRITTEN)
