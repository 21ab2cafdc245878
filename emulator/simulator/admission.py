"""Which jobs the simulated system could ever run: whether a job would start if it were alone.

A job that can never fit would wait for ever, and in most disciplines all behind it too, so it is refused on arrival.
Streams repeat few requests, so what is known of one is kept as a `JobForm` and found by the request's identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, final

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest
from emulator.model.stream import StreamJob
from emulator.policies.adaptation import as_taken, as_total
from emulator.policies.possibility import Possibility
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.state import NOTHING_ELSE, Surroundings

MOST_FORMS: Final = 65_536
"""Forms kept at once; a stream of ever new requests must not fill the memory."""


@final
class JobForm:
    """What all jobs with one request share: the request as the policy takes it, size, and where it is known to fit."""

    __slots__ = ("multicomponent", "offered", "possible_queues", "processors", "request")

    def __init__(self, offered: JobRequest, request: JobRequest) -> None:
        self.offered = offered
        self.request = request
        self.processors: int = request.processors
        self.multicomponent: bool = len(offered.components) > 1
        self.possible_queues: set[int | None] = set()


class Admission:
    """The doorkeeper of a system of clusters with `processors` each, under a discipline and a policy.

    `as_totals` turns every request into one for the whole job, for a system of one cluster.
    """

    def __init__(
        self,
        processors: Sequence[int],
        discipline: Any,
        policy: PlacementPolicy,
        as_totals: bool = False,
        surroundings: Surroundings = NOTHING_ELSE,
    ) -> None:
        self._possibility = Possibility(processors, discipline, policy, surroundings)
        self._policy = policy
        self._as_totals = as_totals
        self._forms: dict[int, JobForm] = {}

    def check(self, job: StreamJob) -> None:
        """Let a job pass that the system could run.

        Raises:
            InvalidInput: if a time is negative or not finite, the policy takes no such request, or a queue is lacking.
            ImpossibleRequest: if the job could not start even if the system were idle.
        """
        check_times(job)
        self.form_of(job.id, job.request, job.queue)

    def form_of(self, job_id: int, request: JobRequest, queue: int | None) -> JobForm:
        """What is known of `request`, once it is sure that the job with it can run.

        Raises:
            InvalidInput: if the policy takes no such request, or the discipline lacks the job's queue.
            ImpossibleRequest: if the job could not start even if the system were idle.
        """
        form = self._forms.get(id(request))
        if form is None:
            form = self._new_form(job_id, request)
        if queue not in form.possible_queues:
            self._try(job_id, form, queue)
        return form

    def _new_form(self, job_id: int, request: JobRequest) -> JobForm:
        if len(self._forms) >= MOST_FORMS:
            self._forms.clear()
        try:
            taken = as_total(request) if self._as_totals else as_taken(request, self._policy)
        except InvalidInput as error:
            raise InvalidInput(f"Job {job_id}: {error}") from error
        form = JobForm(request, taken)
        self._forms[id(request)] = form
        return form

    def _try(self, job_id: int, form: JobForm, queue: int | None) -> None:
        self._possibility.check(WaitingJob(job_id, form.request, queue), form.offered.components)
        form.possible_queues.add(queue)


def check_times(job: StreamJob) -> None:
    """Let a job pass whose moments can be.

    Raises:
        InvalidInput: if a time is negative or not finite.
    """
    for name, value_s in (("arrival_s", job.arrival_s), ("service_s", job.service_s)):
        if not (math.isfinite(value_s) and value_s >= 0):
            raise InvalidInput(f"Job {job.id}: {name}: must be a number of seconds, zero or more, not {value_s!r}.")
