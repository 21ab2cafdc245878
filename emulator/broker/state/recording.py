"""Events of runs and jobs, written into the journal as they happen."""

from __future__ import annotations

from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.runs import Run
from emulator.model.topology import Topology
from emulator.model.views import EventKind, JobView


class EventRecorder:
    """A writer of events into `journal`, each with the state of its job at that time."""

    def __init__(self, topology: Topology, journal: Journal) -> None:
        self._topology = topology
        self._journal = journal

    def record(
        self,
        run: Run,
        kind: EventKind,
        job: LiveJob | None = None,
        detail: dict[str, object] | None = None,
        time_s: float | None = None,
    ) -> None:
        """Write an event of `run` into the journal, at `time_s` or now."""
        view = job.view(self._topology) if job else None
        self._journal.append(run.id, kind, run.now_s() if time_s is None else time_s, view, detail)

    def record_submission(self, run: Run, job: LiveJob) -> JobView:
        """Write into the journal that `job` was submitted; returns the job as it is written there."""
        view = job.view(self._topology)
        self._journal.append(run.id, EventKind.SUBMITTED, job.timeline.submitted_s, view)
        return view
