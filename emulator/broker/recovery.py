"""Jobs that a stopped or killed broker left unfinished, settled once their clusters are found again.

When a cluster is found, everything held there in this testbed's name is released first (`service`), which ends every
rank and step. Then, job by job:

queued              waits on at its place in the queue; a job that its discipline does not know arrives now
claiming            is claimed again at its placement, under claim names that the former broker did not use
starting, running   fails: its ranks may have begun, their output is lost, and no job runs twice
in a run that was   is cancelled in any state, and the run ends with its last job
ending
final               is left alone; a departure or withdrawal that was not decided on is decided now

All methods run on the broker's loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from emulator.broker.jobs.reports import Ended
from emulator.broker.scheduling import Scheduling
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.restore import was_interrupted
from emulator.broker.state.runs import Run
from emulator.model.job import JobState
from emulator.model.topology import Topology

PATIENCE_HOST_S: Final = 120.0
"""Host seconds after which jobs whose clusters have not been found fail."""
STOPPED: Final = "The broker was stopped while the job was {state}; it was ended everywhere, and is not run twice."
NOT_FOUND: Final = "The broker was stopped while the job was {state}, and cluster {cluster!r} was not found after that."


@dataclass(slots=True)
class _Interrupted:
    """A job without an execution, and the clusters that must be found before it is settled."""

    run: Run
    job: LiveJob
    awaited: set[str]


class Recovery:
    """The recovery of jobs that a former broker had placed and that had not ended."""

    def __init__(self, topology: Topology, scheduling: Scheduling) -> None:
        self._topology = topology
        self._scheduling = scheduling
        self._changes = scheduling.changes
        self._interrupted: dict[int, _Interrupted] = {}

    @property
    def is_active(self) -> bool:
        """Whether some job is not settled yet."""
        return bool(self._interrupted)

    def begin(self, runs: Sequence[Run]) -> None:
        """Begin with the running `runs`: decide on what was not decided on, and wait for the clusters."""
        for run in runs:
            for job in run.jobs.values():
                if was_interrupted(job):
                    self._interrupted[job.id] = _Interrupted(run, job, self._clusters_of(job))
            if run.is_ending:
                continue
            self._scheduling.catch_up(run)
            if run.failure:
                continue
            run.poller.reset(len(self._topology.clusters), jobs_wait=run.jobs_wait and not run.is_scanned)

    def cluster_found(self, cluster: str) -> None:
        """Settle the jobs that waited for `cluster` only; it answers, and holds nothing in our name."""
        for interrupted in list(self._interrupted.values()):
            interrupted.awaited.discard(cluster)
            if not interrupted.awaited:
                self._changes.do_in_time(partial(self._settle, interrupted))

    def give_up(self) -> None:
        """Fail the jobs whose clusters have not been found."""
        for interrupted in list(self._interrupted.values()):
            if interrupted.awaited:
                reason = NOT_FOUND.format(state=interrupted.job.state.value, cluster=min(interrupted.awaited))
                self._changes.do_in_time(partial(self._end, interrupted, JobState.FAILED, reason))

    def cancel(self, job: LiveJob) -> bool:
        """Cancel a job that is not settled; returns whether it was not."""
        if job.id not in self._interrupted:
            return False
        self._end(self._interrupted[job.id], JobState.CANCELLED, f"Cancelled while it was {job.state.value}.")
        return True

    def _settle(self, interrupted: _Interrupted) -> None:
        run, job = interrupted.run, interrupted.job
        if job.id not in self._interrupted:
            return
        if run.is_ending:
            self.cancel(job)
        elif job.state is JobState.CLAIMING:
            self._scheduling.supervisor.relaunch(run, job)
            del self._interrupted[job.id]
        else:
            self._end(interrupted, JobState.FAILED, STOPPED.format(state=job.state.value))

    def _end(self, interrupted: _Interrupted, state: JobState, reason: str) -> None:
        """End a job, unless it was settled meanwhile."""
        if interrupted.job.id in self._interrupted:
            self._scheduling.depart(interrupted.run, interrupted.job, Ended(state, reason))
            self._interrupted.pop(interrupted.job.id, None)

    def _clusters_of(self, job: LiveJob) -> set[str]:
        clusters = job.placement.by_cluster() if job.placement is not None else {}
        return {self._topology.clusters[cluster].name for cluster in clusters}
