"""A run of the broker: its clock, its queue discipline and placement policy, and its jobs.

The default run, at dilation 1, exists from the start, for jobs that belong to no measurement or campaign.

Disciplines that are never scanned decide at arrivals and departures only. On a live system processors also come free
without either: other users of a cluster leave, a local manager counts an ended allocation a while longer, an allocation
is granted before its event arrives. While jobs wait, a run therefore polls the clusters, soon after each decision and
then at longer intervals; freed processors reach the discipline as a synthetic departure.
"""

from __future__ import annotations

from emulator.broker.capacity import CapacityPoller
from emulator.broker.deciding import Deciding
from emulator.broker.pending import Pending
from emulator.broker.state.jobs import LiveJob
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import TestbedNotUp
from emulator.model.job import JobState
from emulator.model.request import JobRequest
from emulator.model.views import RunRequest, RunState, RunView
from emulator.policies.admission import Admitting
from emulator.policies.decisions import Decision
from emulator.policies.factory import DecisionMaker, WaitingQueue
from emulator.policies.protocols import Departure
from emulator.policies.state import RunningJob


class Run:
    """A run's clock, discipline, policy and jobs; `waiting_files` holds the input files of waiting jobs.

    Nothing is decided in it any more once `failure` holds the reason why its discipline or policy failed, or while
    `is_ending`; `failure_is_recorded` says whether the journal holds that reason. Without `deciding` nothing ever is:
    the run has ended, or its deciders could not be made again. While `is_behind`, its discipline knows of a decision
    that did not become durable. `undecided_departures` holds departures that were not decided on: while the run was
    ending, or right before the broker was killed. `history` is the table to which placements add what they learn. It is
    part of every later state, and holds what the decisions of the present deciders make of it.

    Raises:
        InvalidInput: if the dilation is invalid.
    """

    def __init__(self, number: int, request: RunRequest, deciding: Deciding | None) -> None:
        self.id = number
        self.request = request
        self.state = RunState.PREPARING
        self.dilation = Dilation(request.dilation)
        self.clock: EmulatedClock | None = None
        self._deciding = deciding
        self.jobs: dict[int, LiveJob] = {}
        self.decisions = 0
        self.history: frozenset[tuple[int, int]] = frozenset()
        self.failure = ""
        self.failure_is_recorded = False
        self.is_ending = False
        self.is_behind = False
        self.poller = CapacityPoller()
        self.pending = Pending()
        self.waiting_files: dict[int, str] = {}
        self._placed: set[int] = set()
        self.undecided_departures: tuple[Departure, ...] = ()

    def close(self) -> None:
        """End the process of a researcher's own policy; nothing is decided any more."""
        if self._deciding is not None:
            self._deciding.close()

    def start(self) -> EmulatedClock:
        """Set the clock to zero now; a second call has no effect."""
        if self.clock is None:
            self.clock = EmulatedClock.starting_now(self.dilation)
            self.state = RunState.RUNNING
        return self.clock

    def resume_clock(self, clock: EmulatedClock) -> None:
        """Resume the clock of a former broker."""
        self.clock, self.state = clock, RunState.RUNNING

    @property
    def deciders(self) -> DecisionMaker:
        """The discipline and policy, which make the decisions."""
        return self._made().deciders

    @property
    def admitting(self) -> Admitting:
        """The check of submitted jobs."""
        return self._made().admitting

    @property
    def discipline(self) -> WaitingQueue:
        """The queue discipline, which decides which job is next."""
        return self.deciders.discipline

    @property
    def is_scanned(self) -> bool:
        """Whether the discipline wants a scan; true if asking it fails, since a scan then meets the same error."""
        try:
            return self.discipline.next_scan_s() is not None
        except Exception:
            return True

    def decide_anew(self, deciding: Deciding) -> None:
        """Have everything decided by `deciding` from now on, which knows of no decision yet."""
        self.close()
        self._deciding = deciding
        self.history = frozenset()

    def begin_again(self, deciding: Deciding) -> None:
        """Forget a failure, and have everything decided by `deciding` from now on, with a snapshot at first."""
        self.failure, self.failure_is_recorded, self.undecided_departures, self.decisions = "", False, (), 0
        self.poller = CapacityPoller()
        self.decide_anew(deciding)

    def note_decision(self, decision: Decision) -> None:
        """Count a decision, keep its history table, and have the poller take note of it."""
        self.decisions += 1
        self.keep_history(decision)
        self.poller.note_decision(decision, is_scanned=self.discipline.next_scan_s() is not None)

    def keep_history(self, decision: Decision) -> None:
        """Keep the history table that `decision` was made on, with what its placements add to it."""
        self.history |= decision.history_after

    def host_until_due_s(self) -> float | None:
        """Get the host seconds until the next scan of the queue or poll of the clusters; None if none is due."""
        if self.failure or self.is_ending or self.is_behind:
            return None
        try:
            scan_host_s = self.host_until_scan_s()
        except Exception:
            return 0.0  # the scan that is due meets the same error, and fails the run
        return self.poller.host_until_due_s() if scan_host_s is None else scan_host_s

    def host_until_scan_s(self) -> float | None:
        """Get the host seconds until the next scan of the queue; None if the discipline wants none.

        Raises:
            Exception: whatever the discipline raises, or an answer that is no timestamp leads to.
        """
        scan_s = self.discipline.next_scan_s()
        return None if scan_s is None or self.clock is None else self.clock.host_remaining_s(scan_s)

    def add(self, job: LiveJob) -> None:
        """Add a job that was submitted to this run, now or to a former broker."""
        self.jobs[job.id] = job
        self.sort_in(job)

    def sort_in(self, job: LiveJob) -> None:
        """Note whether `job`, which has changed, waits with an input file, and whether it is placed."""
        self.waiting_files.pop(job.id, None)
        self._placed.discard(job.id)
        if job.request.file is not None and job.state is JobState.QUEUED:
            self.waiting_files[job.id] = job.request.file
        if job.placement is not None and job.id in self.jobs:
            self._placed.add(job.id)

    def remove(self, job: LiveJob) -> None:
        """Remove a job that has ended, or that did not become durable."""
        self.jobs.pop(job.id, None)
        self.waiting_files.pop(job.id, None)
        self._placed.discard(job.id)

    def has_queued(self, number: int) -> bool:
        """Return whether a job of this run still waits in its queue."""
        job = self.jobs.get(number)
        return job is not None and job.state is JobState.QUEUED

    def request_of_waiting(self, job_id: int) -> JobRequest | None:
        """Return the request of a job that waits for an answer; None for any other job."""
        job = self.jobs.get(job_id)
        return job.request if job and job.state is JobState.QUEUED and not job.answered else None

    @property
    def jobs_wait(self) -> bool:
        """Whether a job waits in its queue."""
        return any(job.state is JobState.QUEUED for job in self.jobs.values())

    @property
    def unfinished(self) -> list[LiveJob]:
        """The jobs that have not ended."""
        return [job for job in self.jobs.values() if not job.state.final]

    @property
    def placed(self) -> list[LiveJob]:
        """The jobs that have been placed and have not ended, in order of submission."""
        return [job for number in sorted(self._placed) if not (job := self.jobs[number]).state.final]

    @property
    def needs_running_jobs(self) -> bool:
        """Whether the discipline or the policy reads the running jobs and their estimated ends; false without any."""
        return self._deciding is not None and self._deciding.deciders.needs_running_jobs

    @property
    def chooses_nodes(self) -> bool:
        """Whether the policy chooses the nodes of its jobs; false without any."""
        return self._deciding is not None and self._deciding.admitting.chooses_nodes

    def running(self) -> tuple[RunningJob, ...]:
        """Return the placed jobs with their estimated ends; nothing if neither discipline nor policy reads them."""
        if not self.needs_running_jobs:
            return ()
        return tuple(running for job in self.placed if (running := job.running()) is not None)

    def now_s(self) -> float:
        """Get the emulated seconds since the run's start; zero before."""
        return self.clock.now_s() if self.clock else 0.0

    def timestamp_s(self, host_moment_s: float) -> float:
        """Convert a timestamp of the host's wall clock to emulated seconds since the run's start."""
        return self.clock.emulated_timestamp_s(host_moment_s) if self.clock else 0.0

    def _made(self) -> Deciding:
        if self._deciding is None:
            raise TestbedNotUp(self.failure or f"Run {self.id} has ended, so nothing is decided in it any more.")
        return self._deciding

    def view(self) -> RunView:
        """Return the run as the API shows it."""
        origin = self.clock.host_wall_origin_s if self.clock else None
        return RunView(id=self.id, state=self.state, request=self.request, host_origin_s=origin)
