"""Submissions become jobs: all that wait are recorded in one transaction, and each is answered once it is durable.

A key makes a submission idempotent: the same submission under the same key returns the job it became, also after a
restart of the broker; a different submission under that key is refused.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from apps.registry import check_program
from emulator.broker.files.replicas import Replicas
from emulator.broker.scheduling import Scheduling
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.registry import RunRegistry
from emulator.broker.state.runs import Run
from emulator.model.errors import JournalFailed, KeyTaken, TestbedError
from emulator.model.job import JobState, Timeline
from emulator.model.topology import Topology
from emulator.model.views import JobView, Submission

MOST_TOGETHER = 128
"""Submissions in one transaction: enough to share one write to the disk, few enough not to hold the loop long."""


class _Pending(NamedTuple):
    submission: Submission
    answer: Future[JobView]


class _Admitted(NamedTuple):
    answer: Future[JobView]
    view: JobView
    run: Run | None = None
    job: LiveJob | None = None


class Submissions:
    """An inbox for submissions from any thread; `post` passes them to the broker's loop, which admits them."""

    def __init__(
        self,
        topology: Topology,
        journal: Journal,
        scheduling: Scheduling,
        replicas: Replicas,
        registry: RunRegistry,
        post: Callable[[Callable[[], object]], None],
    ) -> None:
        self._topology = topology
        self._journal = journal
        self._scheduling = scheduling
        self._replicas = replicas
        self._registry = registry
        self._post = post
        self._waiting: deque[_Pending] = deque()
        self._lock = threading.Lock()

    def submit_async(self, submission: Submission) -> Future[JobView]:
        """Submit a job without waiting; the future gets the job once it is durable, or the error."""
        answer: Future[JobView] = Future()
        answer.set_running_or_notify_cancel()  # a submission cannot be withdrawn here
        with self._lock:
            is_first = not self._waiting
            self._waiting.append(_Pending(submission, answer))
        if is_first:
            self._post(self._admit_waiting)
        return answer

    def _admit_waiting(self) -> None:
        """Admit the submissions that wait. While one waits, this call is posted."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            if self._waiting:
                self._post(self._admit_waiting)
        admitted: list[_Admitted] = []
        try:
            with self._journal.transaction():
                for waiting in batch:
                    self._admit_or_refuse(waiting, admitted)
        except JournalFailed as error:
            self._refuse_all(batch, admitted, error)
            return
        except Exception as error:
            self._refuse_all(batch, admitted, error)
            raise
        for entry in admitted:
            entry.answer.set_result(entry.view)
        self._decide_arrivals(admitted)

    def _admit_or_refuse(self, waiting: _Pending, admitted: list[_Admitted]) -> None:
        try:
            admitted.append(self._admit(waiting))
        except TestbedError as error:
            waiting.answer.set_exception(error)

    def _refuse_all(self, batch: list[_Pending], admitted: list[_Admitted], error: Exception) -> None:
        for entry in admitted:
            if entry.run is not None and entry.job is not None:
                self._registry.remove_job(entry.run, entry.job)
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_exception(error)

    def _admit(self, waiting: _Pending) -> _Admitted:
        submission = waiting.submission
        fingerprint = _fingerprint(submission) if submission.key is not None else ""
        if submission.key is not None:
            earlier = self._find_earlier(submission.key, fingerprint)
            if earlier is not None:
                return _Admitted(waiting.answer, earlier)
        run = self._registry.run_accepting_jobs(submission.run)
        job = self._create_job(run, submission)
        self._registry.add_job(run, job)
        try:
            view = self._scheduling.recorder.record_submission(run, job)
            if submission.key is not None:
                self._journal.store_key(submission.key, job.id, fingerprint)
        except BaseException:
            self._registry.remove_job(run, job)
            raise
        return _Admitted(waiting.answer, view, run, job)

    def _find_earlier(self, key: str, fingerprint: str) -> JobView | None:
        """Get the job that was submitted under `key`, if there is one.

        Raises:
            KeyTaken: if that submission was a different one.
        """
        kept = self._journal.find_submission(key)
        if kept is None:
            return None
        if kept.fingerprint != fingerprint:
            raise KeyTaken(f"key: {key!r} was given to job {kept.job}, of another submission; choose a new one.")
        job = self._registry.find_job(kept.job)
        view = job.view(self._topology) if job is not None else self._journal.last_view(kept.job)
        if view is None:
            raise KeyTaken(f"key: {key!r} was given to job {kept.job}, which is no longer kept; choose a new one.")
        return view

    def _create_job(self, run: Run, submission: Submission) -> LiveJob:
        specification = submission.specification
        if not specification.command:
            check_program(specification.application, specification.arguments, specification.processor_speed)
        number = self._registry.next_job_number
        surroundings = self._replicas.surroundings_of(specification.file)
        admitted = run.admitting.admit(number, specification, surroundings)
        return LiveJob(
            id=number,
            run=run.id,
            specification=specification,
            request=admitted.request,
            queue=admitted.queue,
            timeline=Timeline(submitted_s=run.now_s()),
            intended_arrival_s=submission.intended_arrival_s,
        )

    def _decide_arrivals(self, admitted: list[_Admitted]) -> None:
        by_run: dict[int, tuple[Run, list[LiveJob]]] = {}
        for entry in admitted:
            if entry.run is not None and entry.job is not None and entry.job.state is JobState.QUEUED:
                by_run.setdefault(entry.run.id, (entry.run, []))[1].append(entry.job)
        for run, jobs in by_run.values():
            self._scheduling.decide_arrivals(run, jobs)


def _fingerprint(submission: Submission) -> str:
    """Return a digest of a submission's content without its key, independent of its notation."""
    content = submission.model_dump(mode="json", exclude_defaults=True, exclude={"key"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
