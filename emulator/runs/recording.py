"""Recording the broker's events as rows of a run's directory, one event at a time.

The event that ends a job holds its whole record, so a row is complete when it is written. The use of the clusters
follows from the components that jobs claim and give back.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.conditions import Conditions
from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.strangers import TRAFFIC_ERROR, Carried, StrangersTraffic, strangers_traffic
from emulator.fidelity.verdict import (
    Verdict,
    judge_clocks,
    judge_job,
    judge_links,
    judge_real,
    judge_unfinished,
    judge_unwatched,
)
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.evidence import LinkCheck
from emulator.model.job import JobState
from emulator.model.records import JobRow, TransferRow, UtilizationRow
from emulator.model.topology import Cluster, Topology
from emulator.model.traffic import Flow, carried_mbit
from emulator.model.units import rate_bytes_per_s
from emulator.model.views import EventKind, EventView, JobView
from emulator.runs.evidence import Gathering
from emulator.runs.job_rows import component_rows, job_row, verdict_columns
from emulator.runs.run_directory import RunDirectory, read_rows
from emulator.runs.wide_area_use import WideAreaUse

if TYPE_CHECKING:
    from emulator.runs.page_notes import NoteBook

HOST_UNWATCHED_S: Final = 3.0
"""Host seconds of a job for which another host may not have been looked at: about as many looks are made."""


@dataclass(frozen=True, slots=True)
class _Usage:
    """The processors of a cluster: claimed by jobs, executing them, still to be claimed, and of the background load."""

    claimed: int
    executing: int
    gained: int
    background: int | None


class EndedJob(JobView):
    """A job that has ended: the verdict on it, its dilation, the folder of its records, and its measures if known."""

    verdict: Verdict
    dilation: float
    folder: Path
    measures: JobMeasures | None = None

    @classmethod
    def of(
        cls, job: JobView, verdict: Verdict, dilation: float, folder: Path, measures: JobMeasures | None = None
    ) -> EndedJob:
        """Return `job` with what is known of it now."""
        known = dict(job) | {"verdict": verdict, "dilation": dilation, "folder": folder, "measures": measures}
        return cls.model_construct(**known)

    def judged_also(self, verdict: Verdict) -> EndedJob:
        """Return this job with another verdict held against it, too."""
        return self.model_copy(update={"verdict": Verdict.worst_of([self.verdict, verdict])})


Finished = Mapping[str, Sequence[EndedJob]]
"""The finished jobs of each cell of a matrix, by its name."""


class BackgroundListener(Protocol):
    """The holder of a background load: told when the run's clock starts, and what the grid's jobs hold."""

    def begin(self, clock: EmulatedClock) -> None:
        """Begin, by the clock of the run."""

    def note_grid(self, cluster: str, processors: int, time_s: float) -> None:
        """Take note that the grid's jobs hold `processors` of a cluster since `time_s`."""


class ClockListener(Protocol):
    """Told when the run's clock starts."""

    def begin(self, clock: EmulatedClock) -> None:
        """Go on by the clock of the run."""


class FilesListener(Protocol):
    """The keeper of the jobs' input files: told when the run's clock starts, and which file's job has ended."""

    def begin(self, clock: EmulatedClock) -> None:
        """Go on by the clock of the run."""

    def note_ended(self, name: str | None) -> None:
        """Take note that the job that read the file `name` has ended."""


@dataclass(slots=True)
class Recorder:
    """The recorder of one run's events into `directory`, with the state of its jobs.

    `ended` holds every job that ended, by id, `verdicts` the verdict on each that finished; `last_sequence` is the
    number of the last event recorded. A job is judged by what its record says, by the `evidence` of its time, and by
    the `link_checks` made until then. `background` is told of the grid's use of the clusters, and `background_measures`
    says how that load kept to its band. `notes` holds what the live page is told. `files` is told which input files are
    not needed any more, and `bursts` records what local users at nodes do. `traffic` is the background traffic that is
    sent meanwhile, `missing_traffic_share` what of it was not sent; None before its end, or if there is none.
    """

    directory: RunDirectory
    topology: Topology
    dilation: Dilation
    last_sequence: int = 0
    submitted: int = 0
    running: set[int] = field(default_factory=set)
    ended: dict[int, EndedJob] = field(default_factory=dict)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    evidence: Gathering | None = None
    link_checks: Sequence[LinkCheck] = ()
    background: BackgroundListener | None = None
    files: FilesListener | None = None
    bursts: ClockListener | None = None
    background_measures: BackgroundMeasures | None = None
    notes: NoteBook | None = None
    traffic: Sequence[Flow] = ()
    missing_traffic_share: float | None = None
    _held: dict[int, JobView] = field(default_factory=dict)
    _wide_area: WideAreaUse = field(init=False)
    _usage: dict[str, _Usage] = field(default_factory=dict)
    _usage_s: dict[str, float] = field(default_factory=dict)
    _background_processors: dict[str, int] = field(default_factory=dict)
    _usage_lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._wide_area = WideAreaUse(frozenset(cluster.name for cluster in self.topology.real_clusters))

    def record(self, event: EventView) -> None:
        """Write the rows of `event`; ignore an event that was recorded before."""
        if event.sequence <= self.last_sequence:
            return
        self.last_sequence = event.sequence
        self.directory.append_event(event)
        if event.kind is EventKind.RUN_STARTED:
            self._write_usage(event.time_s)
            host_origin_s = event.host_moment_s - self.dilation.host_duration_s(event.time_s)
            clock = EmulatedClock.resumed(self.dilation, host_origin_s)
            if self.evidence is not None:
                self.evidence.begin(clock)
            for listener in (self.background, self.files, self.bursts):
                if listener is not None:
                    listener.begin(clock)
        if event.kind is EventKind.SUBMITTED:
            self.submitted += 1
        if event.kind is EventKind.PLACED and self.evidence is not None:
            self.evidence.look_at_links_after(event.time_s)
        if event.kind is EventKind.FILE_ARRIVED and event.job is not None:
            self.directory.append(TransferRow(job=event.job.id, **event.detail))
        if event.job is not None:
            self._follow(event.job, event.time_s)

    def note_background(self, cluster: str, processors: int, time_s: float) -> None:
        """Take note that jobs of a background load hold `processors` of a cluster; any thread may call this."""
        self._background_processors[cluster] = processors
        self._write_usage(time_s)

    def count(self, state: JobState) -> int:
        """Return how many jobs ended in `state`."""
        return sum(1 for job in self.ended.values() if job.state is state)

    def judge_by_last_check(self) -> None:
        """Judge the jobs that finished also by the check of the wide area after them, and correct their records.

        A clock of another host that was set meanwhile, or runs faster or slower, shows only there.
        """
        changed: dict[int, Verdict] = {}
        for number, before in self.verdicts.items():
            job = self.ended[number]
            found = self._judged_clocks(job, {part.cluster for part in job.components})
            if found.judgement.severity > before.judgement.severity:
                changed[number] = Verdict.worst_of([before, found])
        if changed:
            rows = read_rows(self.directory.path, JobRow)
            corrected = [
                row.model_copy(update=verdict_columns(changed[row.job])) if row.job in changed else row for row in rows
            ]
            self.directory.replace(JobRow, corrected)
        self.verdicts |= changed
        self.ended |= {number: self.ended[number].judged_also(verdict) for number, verdict in changed.items()}

    def _follow(self, job: JobView, time_s: float) -> None:
        self._wide_area.follow(job)
        if job.state.final:
            self._held.pop(job.id, None)
            self.running.discard(job.id)
            if job.id not in self.ended:
                self._end(job, time_s)
        elif job.id not in self.ended:
            self._held[job.id] = job
            if job.state is JobState.RUNNING and job.id not in self.running:
                self.running.add(job.id)
                if self.evidence is not None and job.started_s is not None:
                    self.evidence.look_after(job.started_s)
        self._write_usage(time_s)

    def _end(self, job: JobView, ended_s: float) -> None:
        measures = None
        if job.state is JobState.FINISHED:
            measures = self._measures(job)
            verdict = self.verdicts[job.id] = self._judged(job, measures)
        else:
            verdict = judge_unfinished(job.state, job.reason)
        self.ended[job.id] = EndedJob.of(job, verdict, self.dilation.factor, self.directory.path, measures)
        for row in component_rows(job):
            self.directory.append(row)
        self.directory.append(job_row(job, verdict, ended_s))
        if self.files is not None:
            self.files.note_ended(job.specification.file)

    def _measures(self, job: JobView) -> JobMeasures:
        """Return what the record of a job and the evidence of its time say; older evidence is not needed any more."""
        clusters = {part.cluster for part in job.components}
        conditions: tuple[Conditions, ...] = ()
        strangers = None
        if self.evidence is not None and job.started_s is not None and job.finished_s is not None:
            self.evidence.look_after(job.finished_s)
            self.evidence.look_at_links_after(job.finished_s)
            conditions = self.evidence.conditions(job.started_s, job.finished_s, clusters)
            strangers = self._strangers(job, self.evidence)
            under_way = [held.placed_s for held in self._held.values() if held.placed_s is not None]
            self.evidence.forget_before(min(under_way, default=job.finished_s))
        return JobMeasures.of(job, self.dilation, conditions, strangers)

    def _strangers(self, job: JobView, evidence: Gathering) -> StrangersTraffic | None:
        """Return what others sent over the access links of a job that had the wide area to itself; else None."""
        own = self._wide_area.own_of(job)
        if not own or job.placed_s is None or job.started_s is None or job.finished_s is None:
            return None
        carried, host_duration_s = evidence.carried_since(job.placed_s, own)
        return strangers_traffic(
            self.topology, job.finished_s - job.started_s, carried, self._with_traffic(own, host_duration_s)
        )

    @property
    def strangers(self) -> StrangersTraffic | None:
        """What others sent over access links in the whole run; None if not all is known that its jobs sent."""
        if self.evidence is None or not self._wide_area.is_known:
            return None
        carried, host_duration_s = self.evidence.carried_in_all()
        duration_s = self.dilation.emulated_duration_s(host_duration_s)
        own = self._with_traffic(self._wide_area.own, host_duration_s)
        return strangers_traffic(self.topology, duration_s, carried, own, self._wide_area.jobs)

    def _with_traffic(self, own: Mapping[str, Carried], host_duration_s: float) -> dict[str, Carried]:
        """Return what jobs sent and received, together with the background traffic of that time.

        Links and senders are not read at one moment, so that a little more of it counts as sent.
        """
        duration_s = (1.0 + TRAFFIC_ERROR) * self.dilation.emulated_duration_s(host_duration_s)
        found: dict[str, Carried] = {}
        for cluster, (sent, received) in own.items():
            up_mbit, down_mbit = carried_mbit(self.traffic, cluster)
            up_bytes, down_bytes = rate_bytes_per_s(up_mbit) * duration_s, rate_bytes_per_s(down_mbit) * duration_s
            found[cluster] = (sent + round(up_bytes), received + round(down_bytes))
        return found

    def _judged(self, job: JobView, measures: JobMeasures) -> Verdict:
        clusters = {part.cluster for part in job.components}
        real = clusters & {cluster.name for cluster in self.topology.real_clusters}
        watched = {found.host for found in measures.conditions if self._covers(found, job)}
        unwatched = set(self.evidence.hosts_of(clusters)) - watched if self.evidence is not None else set()
        links, whole = judge_links(self.link_checks, clusters), judge_job(measures)
        return Verdict.worst_of(
            [links, judge_real(real), judge_unwatched(unwatched), self._judged_clocks(job, clusters), whole]
        )

    def _covers(self, found: Conditions, job: JobView) -> bool:
        """Return whether a host was watched while a job ran; it may not have answered for some of that time."""
        if job.started_s is None or job.finished_s is None:
            return True
        host_execution_s = self.dilation.host_duration_s(job.finished_s - job.started_s)
        return found.host_duration_s >= host_execution_s - HOST_UNWATCHED_S

    def _judged_clocks(self, job: JobView, clusters: Collection[str]) -> Verdict:
        if self.evidence is None or job.started_s is None or job.finished_s is None:
            return Verdict()
        host_execution_s = self.dilation.host_duration_s(job.finished_s - job.started_s)
        return judge_clocks(self.link_checks, self.evidence.hosts_of(clusters), host_execution_s)

    def _write_usage(self, time_s: float) -> None:
        """Write a row for each cluster whose use changed.

        A cluster's timestamps never go back: news of the broker and of a background load come at different delays.
        """
        with self._usage_lock:
            for cluster in self.topology.clusters:
                before, usage = self._usage.get(cluster.name), self._usage_of(cluster.name)
                if before == usage:
                    continue
                self._usage[cluster.name] = usage
                self._usage_s[cluster.name] = max(time_s, self._usage_s.get(cluster.name, time_s))
                self.directory.append(_utilization_row(cluster, usage, self._usage_s[cluster.name]))
                if self.background is not None and (before is None or before.claimed != usage.claimed):
                    self.background.note_grid(cluster.name, usage.claimed, time_s)

    def _usage_of(self, cluster: str) -> _Usage:
        claimed = executing = gained = 0
        for job in list(self._held.values()):
            parts = [part for part in job.components if part.cluster == cluster]
            held = sum(part.processors for part in parts if part.claimed_s is not None)
            claimed += held
            executing += held if job.state is JobState.RUNNING else 0
            gained += sum(part.processors for part in parts if part.claimed_s is None)
        return _Usage(claimed, executing, gained, self._background_processors.get(cluster))


def _utilization_row(cluster: Cluster, usage: _Usage, time_s: float) -> UtilizationRow:
    return UtilizationRow(
        time_s=time_s,
        cluster=cluster.name,
        processors=cluster.processors,
        claimed_processors=usage.claimed,
        executing_processors=usage.executing,
        wasted_processors=usage.claimed - usage.executing,
        gained_processors=usage.gained,
        background_processors=usage.background,
    )
