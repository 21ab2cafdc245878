"""What a broker that was killed left half done is settled, once the clusters concerned are found again.

A cluster that is found has first released all that was held there in this testbed's name (`service`), and with it every
rank and every step of a job has ended. Then, job by job:

queued              waits on, where its discipline had it; one that had not been put to it arrives now
claiming            is claimed again at its placement, under names that no claim of the former broker had
starting, running   has failed: its ranks may have begun, their output went with the broker, and none is run twice
of a run that was   is cancelled, whatever it did, and the run ends with its last job
being ended
final               stays what it is; a departure or withdrawal that was not decided on is decided now

Everything here happens on the broker's loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.broker.life_events import Ended
from emulator.broker.remembering import was_interrupted
from emulator.broker.runs import LiveJob, Run
from emulator.broker.scheduling import Scheduling
from emulator.model.job import JobState
from emulator.model.topology import Topology

PATIENCE_HOST_S: Final = 30.0
"""Host seconds after which jobs whose clusters have not been found are given up."""
KILLED: Final = "The broker was killed while the job was {state}; it was ended everywhere, and is not run twice."
NOT_FOUND: Final = "The broker was killed while the job was {state}, and cluster {cluster!r} was not found after that."


@dataclass(slots=True)
class _Interrupted:
    """A job that nobody follows, and the clusters that have yet to be found before it is settled."""

    run: Run
    job: LiveJob
    awaited: set[str]


class Recovery:
    """Settles the jobs that a former broker had placed and did not see end."""

    def __init__(self, topology: Topology, scheduling: Scheduling) -> None:
        self._topology = topology
        self._scheduling = scheduling
        self._interrupted: dict[int, _Interrupted] = {}

    @property
    def is_going_on(self) -> bool:
        """Whether a job is not settled yet."""
        return bool(self._interrupted)

    def begin(self, runs: Sequence[Run]) -> None:
        """Take up `runs`, those that are running: decide on what was not decided on, and wait for the clusters."""
        for run in runs:
            for job in run.jobs.values():
                if was_interrupted(job):
                    self._interrupted[job.id] = _Interrupted(run, job, self._clusters_of(job))
            if run.is_ending:
                continue
            self._scheduling.catch_up(run)
            is_scanned = run.discipline.next_scan_s() is not None
            jobs_wait = bool(run.discipline.waiting()) and not is_scanned
            run.looking.begin_anew(len(self._topology.clusters), jobs_wait=jobs_wait)

    def found(self, cluster: str) -> None:
        """`cluster` answers, and nothing is held there in our name."""
        for interrupted in list(self._interrupted.values()):
            interrupted.awaited.discard(cluster)
            if not interrupted.awaited:
                self._settle(interrupted)

    def give_up(self) -> None:
        """No cluster is waited for any longer."""
        for number in list(self._interrupted):
            interrupted = self._interrupted[number]
            reason = NOT_FOUND.format(state=interrupted.job.state.value, cluster=min(interrupted.awaited))
            self._end(number, JobState.FAILED, reason)

    def cancel(self, job: LiveJob) -> None:
        """End a job that waits to be settled; does nothing for one that is."""
        if job.id in self._interrupted:
            self._end(job.id, JobState.CANCELLED, f"Cancelled while it was {job.state.value}.")

    def _settle(self, interrupted: _Interrupted) -> None:
        run, job = interrupted.run, interrupted.job
        if run.is_ending:
            self.cancel(job)
        elif job.state is JobState.CLAIMING:
            del self._interrupted[job.id]
            self._scheduling.resume(run, job)
        else:
            self._end(job.id, JobState.FAILED, KILLED.format(state=job.state.value))

    def _end(self, number: int, state: JobState, reason: str) -> None:
        interrupted = self._interrupted.pop(number)
        self._scheduling.depart(interrupted.run, interrupted.job, Ended(state, reason))

    def _clusters_of(self, job: LiveJob) -> set[str]:
        clusters = job.placement.by_cluster() if job.placement is not None else {}
        return {self._topology.clusters[cluster].name for cluster in clusters}
