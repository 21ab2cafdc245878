"""The engine: it processes events in exact order, asks the discipline at each, and runs jobs until their departure.

Order. Events happen in order of their timestamps. At equal timestamps departures come first, then arrivals, then scans
of the queue. Simultaneous departures are separate decisions, in the order in which the jobs were placed; simultaneous
arrivals are separate decisions, in the order of the stream. A decision is made on the state after its own event and all
events before it.

Time. The clock is never advanced in steps. A job's end is its start plus its execution time, the stream gives the
arrivals, and a discipline's scans are multiples of its interval. Timestamps therefore do not drift in long simulations.

A job holds its processors from placement to departure; the `Preparation` lies between placement and start. A departure
comes a stated time after the job's end, if its processors are released only then. A job that would run longer than
the run-time limit ends at it. With `Claims` a job whose file is
under way holds them only from its claim on. Claims are events like departures, and come after those of the same
timestamp. With `Transfers` a job whose file comes later than its planned start begins when the file is there. Under
`Contention` starts and ends of jobs are events, too, and may move the end of a running job; its old end stays in the
event list and is skipped.

Under a background load other users' jobs take and give back idle processors, after departures and before arrivals of
the same timestamp. Disciplines that are not scanned are told of processors that other users gave back, as live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

from numpy.random import Generator

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.held_nodes import ranked
from emulator.model.placement import Component, Placement
from emulator.model.stream import StreamJob
from emulator.policies.answer_checks import check_history, does_not_wait, take, take_for
from emulator.policies.decisions import NOBODY
from emulator.policies.idle_room import IdleRoom
from emulator.policies.protocols import (
    Arrival,
    Departure,
    PlacementPolicy,
    QueueDiscipline,
    Reject,
    Scan,
    SchedulingEvent,
    Start,
    WaitingJob,
)
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.queues.visiting import VisitingDiscipline
from emulator.policies.state import RunningJob, Surroundings, SystemState
from emulator.policies.traits import need_running_jobs
from emulator.simulator.background import OtherUsers
from emulator.simulator.claiming import Claims
from emulator.simulator.possible_jobs import Admission
from emulator.simulator.runtime import Contention, OneFactor, Preparation, RuntimeModel, RuntimeOfJobs
from emulator.simulator.simulated_job import (
    NEVER,
    NO_QUEUE,
    FinishedJob,
    GivenUpJob,
    SimulatedJob,
    finished_job,
    next_job,
)
from emulator.simulator.statistics import Observations
from emulator.simulator.transfers import Transfers

INDEXED_FROM: Final = 32
"""The number of clusters from which on the idle processors have an index."""
LONGEST_STANDSTILL_S: Final = 30 * 86_400.0
"""If no job runs and none arrives for this time, under a background load or scans, waiting jobs will never start.

A time scale divides this time, as it divides the lengths of dummy jobs and of pauses.
"""
CLAIMS_COME_LAST: Final = 1 << 60
"""Added to the number of a placement, so that its claim comes after the departures of the same timestamp."""
NOTHING_HAPPENS: Final = "nothing runs and nothing more will happen: the discipline or the policy never starts it"


Log = Callable[[float, SchedulingEvent, Sequence[Start | Reject], tuple[int, ...]], None]
"""A callback for every decision, with its timestamp, event, answers, and the idle processors before it."""


class Engine:
    """A simulated multicluster of clusters with `processors` each, of which other users hold `occupied` throughout.

    A component of a job takes `together` processors at a time. If no job runs and none arrives for `patience_s`, the
    engine concludes that the waiting jobs will never start.
    """

    def __init__(
        self,
        processors: Sequence[int],
        discipline: QueueDiscipline,
        policy: PlacementPolicy,
        admission: Admission,
        runtime: RuntimeModel,
        observations: Observations,
        rng: Generator,
        *,
        preparation: Preparation | None = None,
        contention: Contention | None = None,
        of_jobs: RuntimeOfJobs | None = None,
        surroundings: Surroundings | None = None,
        occupied: Sequence[int] = (),
        background: OtherUsers | None = None,
        claims: Claims | None = None,
        transfers: Transfers | None = None,
        releases_s: Sequence[float] = (),
        together: int = 1,
        run_time_limit_s: float = NEVER,
        patience_s: float = LONGEST_STANDSTILL_S,
        on_finished: Callable[[FinishedJob], None] | None = None,
        on_given_up: Callable[[GivenUpJob], None] | None = None,
        log: Log | None = None,
    ) -> None:
        free = [size - held for size, held in zip(processors, occupied or [0] * len(processors), strict=True)]
        self._processors: tuple[int, ...] = tuple(processors)
        self._idle: list[int] = free
        # The concrete classes are in the types because mypyc calls their methods faster than those of a protocol.
        self._discipline: VisitingDiscipline | QueueDiscipline = discipline
        self._policy = policy
        self._admission = admission
        self._runtime: OneFactor | RuntimeModel = runtime
        self._observations = observations
        self._rng = rng
        self._preparation = preparation
        self._contention = contention
        self._of_jobs = of_jobs
        self._surroundings = surroundings or Surroundings()
        self._background = background
        self._claims = claims
        self._transfers = transfers
        self._releases_s: list[float] = list(releases_s)
        self._together: int = together
        self._run_time_limit_s: float = run_time_limit_s
        self._patience_s: float = patience_s
        # Other users' jobs and promises change the idle processors without telling the index.
        indexed = len(free) >= INDEXED_FROM and background is None and claims is None
        self._room: IdleRoom | None = IdleRoom(free) if indexed else None
        self._changed_s: float = 0.0
        self._event_s: float = 0.0
        self._shows_running: bool = need_running_jobs(discipline, policy)
        self._on_finished = on_finished
        self._on_given_up = on_given_up
        self._log = log
        self._jobs: dict[int, SimulatedJob] = {}
        self._running: list[tuple[float, int, SimulatedJob]] = []
        self._placed: int = 0
        self._scan = Scan()
        self._placement_queue: PlacementQueue | None = None
        if isinstance(discipline, PlacementQueue):
            self._placement_queue = discipline
        # Scans that change nothing are only counted, unless a log wants to see each decision.
        self._passes_over_scans: bool = log is None
        self._scans: bool = not isinstance(discipline, VisitingDiscipline)

    def run(
        self, jobs: Iterator[StreamJob], *, stop_at_last_arrival: bool = False, most_waiting: int | None = None
    ) -> bool:
        """Simulate until all jobs have finished, and return whether they have.

        With `stop_at_last_arrival` the simulation ends at the last arrival. With `most_waiting` it ends early when more
        than that many jobs wait.

        Raises:
            InvalidInput: if a job is invalid, or an answer of the discipline or policy does not fit the system.
            ImpossibleRequest: if a job could never start.
        """
        limit = most_waiting if most_waiting is not None else -1
        coming = next_job(jobs, 0.0)
        self._tend_background(0.0)
        while True:
            arrival_s = NEVER if coming is None else coming.arrival_s
            scan_s = self._discipline.next_scan_s() if self._scans else None
            if scan_s is not None and scan_s < self._event_s:
                # A scan that is asked for in the past happens at once, as live.
                scan_s = self._event_s
            next_s = arrival_s if scan_s is None or arrival_s <= scan_s else scan_s
            if self._transfers is not None and self._transfers_come_first(self._transfers, next_s):
                self._advance_transfers(self._transfers, self._transfers.next_s())
                continue
            if self._background is not None and (coming is not None or self._jobs):
                departure_s = self._running[0][0] if self._running else NEVER
                background_s = self._background.next_s()
                if background_s < departure_s and background_s <= next_s and background_s < NEVER:
                    self._advance_background(self._background, background_s, coming is None)
                    continue
            if self._running and self._running[0][0] <= next_s:
                self._depart()
            elif coming is not None and arrival_s == next_s:
                self._arrive(coming)
                coming = next_job(jobs, arrival_s)
                if coming is None:
                    self._close_window(arrival_s)
                    if stop_at_last_arrival:
                        return False
                if limit >= 0 and self._waiting() > limit:
                    self._close_window(arrival_s)
                    return False
            elif scan_s is not None and (coming is not None or self._jobs):
                self._scan_queue(scan_s, arrival_s)
            else:
                break
        self._check_nobody_waits(NOTHING_HAPPENS)
        return True

    def _transfers_come_first(self, transfers: Transfers, next_s: float) -> bool:
        """Return whether a transfer ends before anything else happens, or with it."""
        ends_s = transfers.next_s()
        departure_s = self._running[0][0] if self._running else NEVER
        background_s = NEVER if self._background is None else self._background.next_s()
        return ends_s < NEVER and ends_s <= next_s and ends_s <= departure_s and ends_s <= background_s

    def _advance_transfers(self, transfers: Transfers, time_s: float) -> None:
        self._event_s = time_s
        for number in transfers.advance(time_s):
            job = self._jobs[number]
            if job.placement is not None and (self._claims is None or not self._claims.awaits(number)):
                self._begin(job, job.placement, max(job.start_s, time_s))
        self._surroundings = replace(self._surroundings, bandwidth_bytes_per_s=transfers.bytes_per_s())

    def _advance_background(self, background: OtherUsers, time_s: float, no_more_arrive: bool) -> None:
        self._event_s = time_s
        before = self._placeable()
        background.advance(time_s, self._idle)
        self._offer_freed(before, time_s)
        self._check_progress(time_s, no_more_arrive)

    def _tend_background(self, time_s: float) -> None:
        if self._background is None:
            return
        before = self._placeable()
        self._background.tend(time_s, self._idle)
        self._offer_freed(before, time_s)

    def _placeable(self) -> tuple[int, ...]:
        """Return the processors per cluster on which a job may be placed."""
        return tuple(self._idle) if self._claims is None else tuple(self._claims.left(self._idle))

    def _offer_freed(self, before: tuple[int, ...], time_s: float) -> None:
        """Tell a discipline that is not scanned of processors that other users gave back, as the broker does."""
        grown = [
            Component(cluster, now - was)
            for cluster, (now, was) in enumerate(zip(self._placeable(), before, strict=True))
            if now > was
        ]
        if grown and self._jobs and not (self._scans and self._discipline.next_scan_s() is not None):
            self._decide(Departure(NOBODY, Placement(tuple(grown))), time_s)

    def _check_progress(self, time_s: float, no_more_arrive: bool) -> None:
        """Raise an error if no job has run and none has arrived for too long: what waits will never start."""
        if not no_more_arrive or self._running or time_s <= self._changed_s + self._patience_s:
            return
        if self._background is None:
            why = (
                f"nothing runs and no job has arrived or ended since {self._changed_s:g} s: in no scan since then "
                "did the discipline or the policy start it"
            )
        else:
            why = (
                "only jobs of the background load have run for long: it does not fit beside this load (a lower --band, "
                "or a smaller job, does)"
            )
        self._check_nobody_waits(why)

    def _waiting(self) -> int:
        observations = self._observations
        return observations.arrived - observations.started - observations.given_up

    def _arrive(self, coming: StreamJob) -> None:
        id = coming.id
        arrival_s = coming.arrival_s
        request = coming.request
        queue = coming.queue
        if id in self._jobs:
            raise InvalidInput(f"Job {id}: id: another job with this identity is in the system.")
        form = self._admission.form_of(id, request, queue)
        number = self._observations.note_arrival(arrival_s)
        self._changed_s = arrival_s
        queue_index = NO_QUEUE if queue is None else queue
        job = SimulatedJob(number, id, arrival_s, coming.service_s, form, queue_index, coming.application)
        if self._releases_s:
            job.release_s = self._releases_s[id % len(self._releases_s)]
        self._jobs[id] = job
        self._decide(Arrival(WaitingJob(id, form.request, queue)), arrival_s)

    def _depart(self) -> None:
        now_s, _, job = heappop(self._running)
        self._event_s = now_s
        placement = job.placement
        finish_s = job.finish_s
        if placement is None:
            return
        if now_s != finish_s + job.release_s:
            self._go_on(job, placement, now_s)
            return
        job.placement = None
        for component in placement.components:
            cluster = component.cluster
            self._idle[cluster] = self._idle[cluster] + component.processors
            if self._room is not None:
                self._room.note_changed(cluster)
        del self._jobs[job.id]
        form = job.form
        observations = self._observations
        if observations.window_open:
            observations.note_occupied(self._held(job, placement), job.start_s, finish_s, job.net_share())
        if job.reached_limit:
            observations.note_reached_limit()
        else:
            observations.note_finished(job.number, job.arrival_s, job.start_s, finish_s, form.multicomponent, job.queue)
        if self._on_finished is not None:
            self._on_finished(finished_job(job, placement, now_s))
        if self._contention is not None:
            self._contend(self._contention, job, placement, now_s)
        if self._shows_running:
            self._forget_running(job.id)
        self._changed_s = now_s
        if self._background is not None:
            self._background.start_local_jobs(now_s, self._idle)
        self._decide(Departure(job.id, placement), now_s)
        self._tend_background(now_s)

    def _go_on(self, job: SimulatedJob, placement: Placement, now_s: float) -> None:
        """Let a placed job claim its processors, start, or begin or end to communicate, if that is due."""
        if self._claims is not None and self._claims.awaits(job.id):
            self._claim(self._claims, job, placement, now_s)
            return
        if self._shows_running and now_s == job.start_s:
            self._show_running(job, placement, now_s)
        if self._contention is not None:
            self._contend(self._contention, job, placement, now_s)

    def _contend(self, contention: Contention, job: SimulatedJob, placement: Placement, now_s: float) -> None:
        """Begin or end a job's part in the contention, and move the ends of the jobs that this disturbs."""
        if now_s >= job.finish_s:
            contention.end(job.id, now_s)
        elif now_s == job.start_s:
            contention.begin(job.id, self._as_run(job, placement), job.service_s, job.execution_s, now_s)
        for job_id, finish_s in contention.moved():
            moved = self._jobs[job_id]
            if moved.end_at(finish_s, self._run_time_limit_s):
                self._expect_end(moved)

    def _expect_end(self, job: SimulatedJob) -> None:
        heappush(self._running, (job.finish_s + job.release_s, job.sequence, job))
        if self._contention is not None and job.release_s > 0.0:
            heappush(self._running, (job.finish_s, job.sequence, job))

    def _scan_queue(self, scan_s: float, arrival_s: float) -> None:
        """Scan the queue; `arrival_s` is the next arrival, infinite if there is none."""
        started = self._observations.started
        given_up = self._observations.given_up
        self._decide(self._scan, scan_s)
        if started != self._observations.started or given_up != self._observations.given_up:
            return
        change_s = self._next_change_s(arrival_s)
        queue = self._placement_queue
        if change_s == NEVER and queue is not None and queue.waits_for_ever(self._placeable()):
            self._check_nobody_waits(NOTHING_HAPPENS)
        self._check_progress(scan_s, arrival_s == NEVER)
        if queue is not None and self._passes_over_scans:
            queue.pass_over_scans(self._placeable(), change_s)

    def _next_change_s(self, arrival_s: float) -> float:
        """Return when the state changes next, if scans change nothing."""
        next_s = arrival_s if not self._running else min(arrival_s, self._running[0][0])
        if self._transfers is not None:
            next_s = min(next_s, self._transfers.next_s())
        return next_s if self._background is None else min(next_s, self._background.next_s())

    def _decide(self, event: SchedulingEvent, time_s: float) -> None:
        self._event_s = time_s
        idle = self._placeable() if self._room is None or self._log is not None else None
        state = SystemState(self._processors, idle, time_s, self._surroundings, self._room)
        answers = self._discipline.decide(event, state, self._policy, self._rng)
        if self._log is not None:
            self._log(time_s, event, answers, idle or ())
        for answer in answers if isinstance(answers, list) else list(answers):
            job = self._jobs.get(answer.job_id)
            if job is None or job.placement is not None:
                raise does_not_wait(answer.job_id)
            job.tries += answer.tries
            if isinstance(answer, Start):
                self._start(job, answer.placement, time_s)
            else:
                self._observations.given_up += 1
                del self._jobs[job.id]
                if self._on_given_up is not None:
                    self._on_given_up(GivenUpJob(job.id, time_s, answer.reason, answer.tries))

    def _start(self, job: SimulatedJob, placement: Placement, time_s: float) -> None:
        claims = self._claims
        is_promised = claims is not None and claims.come_later(job.id, placement)
        # What is placed must fit beside what is promised to others; the processors themselves may be claimed later.
        left = self._idle if claims is None else claims.left(self._idle)
        if self._together == 1:
            take(left, job.id, job.form.processors, placement)
        else:
            take_for(left, job.id, job.form.request, placement, self._together)
        if claims is not None and not is_promised:
            claims.claim(job.id, placement, self._idle)
        if self._room is not None:
            for component in placement.components:
                self._room.note_changed(component.cluster)
        running = self._as_run(job, placement)
        if self._of_jobs is None:
            job.execution_s = self._runtime.execution_s(job.application, running, job.service_s)
        else:
            job.execution_s = self._of_jobs.execution_of_s(job.id, running, job.service_s)
        self._placed += 1
        self._observations.started += 1
        job.sequence = self._placed
        job.placement = placement
        job.placed_s = time_s
        if self._transfers is not None and placement.transfer_s > 0.0:
            file = self._surroundings.files[job.form.request.file or ""]
            self._transfers.begin(job.id, file, placement, time_s)
        if claims is not None and is_promised:
            procedure = claims.promise(job.id, placement, time_s)
            job.planned_s = procedure.start_s
            heappush(self._running, (procedure.claim_s, job.sequence + CLAIMS_COME_LAST, job))
        else:
            preparation = self._preparation
            job.planned_s = time_s + placement.transfer_s
            start_s = job.planned_s if preparation is None else time_s + preparation.delay_s(placement, time_s)
            self._hold(job, placement, time_s, start_s)
        if placement.learned:
            history = self._surroundings.history | placement.learned
            check_history(history)
            self._surroundings = replace(self._surroundings, history=history)
        if self._shows_running:
            self._show_running(job, placement, job.planned_s)

    def _hold(self, job: SimulatedJob, placement: Placement, time_s: float, start_s: float) -> None:
        """Let a job that holds its processors since `time_s` run from `start_s` on, or from when its file is there."""
        job.claimed_s = time_s
        job.start_s = start_s
        if self._transfers is None or not self._transfers.awaits(job.id):
            self._begin(job, placement, start_s)

    def _begin(self, job: SimulatedJob, placement: Placement, start_s: float) -> None:
        job.start_s = start_s
        job.end_at(start_s + job.execution_s, self._run_time_limit_s)
        self._expect_end(job)
        if self._contention is not None or (self._shows_running and start_s != job.planned_s):
            heappush(self._running, (start_s, job.sequence, job))

    def _as_run(self, job: SimulatedJob, placement: Placement) -> Placement:
        """Return a job's placement with its processes, where they are fewer than the processors that it holds."""
        return placement if self._together == 1 else ranked(job.form.request, placement, self._together)

    def _held(self, job: SimulatedJob, placement: Placement) -> int:
        """Return how many processors a job holds."""
        return job.form.processors if self._together == 1 else placement.processors

    def _claim(self, claims: Claims, job: SimulatedJob, placement: Placement, time_s: float) -> None:
        """Claim the processors of a placed job; if other users hold some of them, try again or give up."""
        if claims.claim(job.id, placement, self._idle):
            procedure = claims.end(job.id, placement)
            job.claiming_tries += procedure.number - 1
            job.additional_s = procedure.additional_s
            overhead_s = 0.0 if self._preparation is None else self._preparation.overhead_s(placement, time_s)
            self._hold(job, placement, time_s, max(procedure.start_s, time_s + overhead_s))
            return
        following = claims.next_try(job.id, time_s)
        if following is None and claims.places_again:
            self._place_again(claims, job, placement, time_s)
        elif following is None:
            self._give_up_claiming(claims, job, placement, time_s)
        elif following.claim_s > job.placed_s + self._patience_s:
            raise ImpossibleRequest(f"Job {job.id} never claims its processors: other users' jobs always hold some.")
        else:
            heappush(self._running, (following.claim_s, job.sequence + CLAIMS_COME_LAST, job))
            job.planned_s = following.start_s
            if self._shows_running:
                self._show_running(job, placement, job.planned_s)

    def _place_again(self, claims: Claims, job: SimulatedJob, placement: Placement, time_s: float) -> None:
        """Return a job whose claims failed to the queue: to the discipline it departs, and arrives anew."""
        job.claiming_tries += claims.end(job.id, placement).number
        self._unplace(job, time_s)
        self._decide(Departure(job.id, placement), time_s)
        queue = None if job.queue == NO_QUEUE else job.queue
        self._decide(Arrival(WaitingJob(job.id, job.form.request, queue)), time_s)

    def _unplace(self, job: SimulatedJob, time_s: float) -> None:
        job.placement = None
        if self._transfers is not None:
            self._transfers.end(job.id, time_s)
        self._observations.started -= 1
        if self._shows_running:
            self._forget_running(job.id)

    def _give_up_claiming(self, claims: Claims, job: SimulatedJob, placement: Placement, time_s: float) -> None:
        claims.end(job.id, placement)
        self._unplace(job, time_s)
        del self._jobs[job.id]
        self._observations.given_up += 1
        if self._on_given_up is not None:
            self._on_given_up(GivenUpJob(job.id, time_s, "its processors could not be claimed", job.tries))
        self._decide(Departure(job.id, placement), time_s)

    def _show_running(self, job: SimulatedJob, placement: Placement, start_s: float) -> None:
        """Show a placed job, from now on with `start_s`, to a discipline or policy that plans."""
        shown = RunningJob.since(job.id, placement, start_s, job.form.offered.estimate_s)
        others = self._surroundings.running
        running = tuple([shown if other.id == job.id else other for other in others])
        self._surroundings = replace(self._surroundings, running=running if shown in running else (*running, shown))

    def _forget_running(self, job_id: int) -> None:
        running = tuple([job for job in self._surroundings.running if job.id != job_id])
        self._surroundings = replace(self._surroundings, running=running)

    def _close_window(self, time_s: float) -> None:
        observations = self._observations
        observations.waiting_at_last_arrival = self._waiting()
        # A job whose end moved, and moved back, is twice in the event list.
        ending = {job.id: job for end_s, _, job in self._running if end_s == job.finish_s + job.release_s}
        for job in ending.values():
            finish_s = job.finish_s
            if job.placement is None or job.start_s >= time_s:
                continue
            held = self._held(job, job.placement)
            observations.note_occupied(held, job.start_s, min(time_s, finish_s), job.net_share())
        observations.window_open = False

    def _check_nobody_waits(self, why: str) -> None:
        # The engine's own jobs, because a user's discipline may say that none wait.
        if self._jobs:
            raise ImpossibleRequest(f"Job {next(iter(self._jobs))} still waits though {why}.")
