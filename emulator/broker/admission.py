"""Admission: submissions become jobs, all that wait at once in one transaction, each answered once it is durable.

A key makes a submission idempotent: the same submission under the same key gives the job that it became, today or
after the broker was started anew; another submission under that key is refused.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from emulator.broker.files.replicas import Replicas
from emulator.broker.journal import Journal
from emulator.broker.register import Register
from emulator.broker.runs import LiveJob, Run
from emulator.broker.scheduling import Scheduling
from emulator.model.applications import check_program
from emulator.model.errors import KeyTaken, NotStanding, TestbedError
from emulator.model.job import JobState, Timeline
from emulator.model.topology import Topology
from emulator.model.views import JobView, Submission

MOST_TOGETHER = 128
"""Submissions of one transaction: enough to share one write to the disk, few enough not to keep the loop long."""


class _Waiting(NamedTuple):
    submission: Submission
    answer: Future[JobView]


class _Admitted(NamedTuple):
    answer: Future[JobView]
    view: JobView
    run: Run | None = None
    job: LiveJob | None = None


class Admission:
    """Takes submissions from any thread; `post` has them admitted on the broker's loop."""

    def __init__(
        self,
        topology: Topology,
        journal: Journal,
        scheduling: Scheduling,
        replicas: Replicas,
        register: Register,
        post: Callable[[Callable[[], object]], None],
    ) -> None:
        self._topology = topology
        self._journal = journal
        self._scheduling = scheduling
        self._replicas = replicas
        self._register = register
        self._post = post
        self._waiting: deque[_Waiting] = deque()

    def offer(self, submission: Submission) -> Future[JobView]:
        """The job that `submission` becomes, once it is durable; or the error for which it was refused."""
        answer: Future[JobView] = Future()
        answer.set_running_or_notify_cancel()  # nobody can take a submission back once it is offered
        self._waiting.append(_Waiting(submission, answer))
        self._post(self._admit_waiting)
        return answer

    def _admit_waiting(self) -> None:
        """Admit what waits. Each offer posts this, so that after a batch most find nothing left to do."""
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        if not batch:
            return
        admitted: list[_Admitted] = []
        try:
            with self._journal.together():
                for waiting in batch:
                    self._admit_or_refuse(waiting, admitted)
        except sqlite3.Error as error:
            self._take_back(batch, admitted, NotStanding(f"The broker's journal cannot be written ({error})."))
            return
        except Exception as error:
            self._take_back(batch, admitted, error)
            raise
        for one in admitted:
            one.answer.set_result(one.view)
        self._try(admitted)

    def _admit_or_refuse(self, waiting: _Waiting, admitted: list[_Admitted]) -> None:
        try:
            admitted.append(self._admit(waiting))
        except TestbedError as error:
            waiting.answer.set_exception(error)

    def _take_back(self, batch: list[_Waiting], admitted: list[_Admitted], error: Exception) -> None:
        for one in admitted:
            if one.run is not None and one.job is not None:
                self._register.strike(one.run, one.job)
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_exception(error)

    def _admit(self, waiting: _Waiting) -> _Admitted:
        submission = waiting.submission
        fingerprint = _fingerprint(submission) if submission.key is not None else ""
        if submission.key is not None:
            earlier = self._earlier(submission.key, fingerprint)
            if earlier is not None:
                return _Admitted(waiting.answer, earlier)
        run = self._register.run_for(submission.run)
        job = self._job(run, submission)
        self._register.enter(run, job)
        try:
            view = self._scheduling.record_submission(run, job)
            if submission.key is not None:
                self._journal.keep_key(submission.key, job.id, fingerprint)
        except BaseException:
            self._register.strike(run, job)
            raise
        return _Admitted(waiting.answer, view, run, job)

    def _earlier(self, key: str, fingerprint: str) -> JobView | None:
        """The job that was submitted under `key`.

        Raises:
            KeyTaken: if what was submitted differs.
        """
        kept = self._journal.under_key(key)
        if kept is None:
            return None
        if kept.fingerprint != fingerprint:
            raise KeyTaken(f"key: {key!r} was given to job {kept.job}, of another submission; choose a new one.")
        job = self._register.known(kept.job)
        return job.view(self._topology) if job is not None else self._journal.last_view(kept.job)

    def _job(self, run: Run, submission: Submission) -> LiveJob:
        specification = submission.specification
        check_program(specification)
        number = self._register.next_job_number
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

    def _try(self, admitted: list[_Admitted]) -> None:
        by_run: dict[int, tuple[Run, list[LiveJob]]] = {}
        for one in admitted:
            if one.run is not None and one.job is not None and one.job.state is JobState.QUEUED:
                by_run.setdefault(one.run.id, (one.run, []))[1].append(one.job)
        for run, jobs in by_run.values():
            self._scheduling.decide_arrivals(run, jobs)


def _fingerprint(submission: Submission) -> str:
    """A digest of all that a submission says but its key, however it was written."""
    content = submission.model_dump(mode="json", exclude_defaults=True, exclude={"key"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
