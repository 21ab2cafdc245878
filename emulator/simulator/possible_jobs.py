"""Which jobs the simulated system could ever run: whether a job would start if it were the only job.

A job that can never fit would wait forever and, in most disciplines, block all jobs behind it, so it is refused on
arrival. Streams repeat few requests, so the result for a request is kept as a `JobForm`, keyed by the `id` of the
request object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, final

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.policies.feasibility import Feasibility
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.request_kinds import as_taken, as_total
from emulator.policies.state import NOTHING_ELSE, Surroundings
from emulator.policies.traits import traits_of_queue

MOST_FORMS: Final = 65_536
"""Maximum number of forms kept, so that a stream of always new requests does not fill the memory."""


@final
class JobForm:
    """The common properties of all jobs with one request.

    These are the request in a kind that the policy accepts, its size, and the queues from which it is known to fit.
    """

    __slots__ = ("multicomponent", "offered", "possible_queues", "processors", "request")

    def __init__(self, offered: JobRequest, request: JobRequest) -> None:
        self.offered = offered
        self.request = request
        self.processors: int = request.processors
        self.multicomponent: bool = len(offered.components) > 1 or offered.kind is RequestKind.FLEXIBLE
        self.possible_queues: set[int | None] = set()


class Admission:
    """The admission check of a system of clusters with `processors` each, under a discipline and a policy.

    `as_totals` converts every request to a total request, for a system of one cluster.
    """

    def __init__(
        self,
        processors: Sequence[int],
        discipline: Any,
        policy: PlacementPolicy,
        as_totals: bool = False,
        surroundings: Surroundings = NOTHING_ELSE,
    ) -> None:
        self._feasibility = Feasibility(processors, discipline, policy, surroundings)
        self._policy = policy
        self._singles_stay: bool = traits_of_queue(discipline).places_singles_at_home
        self._as_totals = as_totals
        self._forms: dict[int, JobForm] = {}

    def check(self, job: StreamJob) -> None:
        """Check that the system could run a job.

        Raises:
            InvalidInput: if a time is negative or not finite, the policy does not accept the request, or the job lacks
                a queue.
            ImpossibleRequest: if the job could not start even if the system were idle.
        """
        check_times(job)
        self.form_of(job.id, job.request, job.queue)

    def form_of(self, job_id: int, request: JobRequest, queue: int | None) -> JobForm:
        """Return the form of `request` after checking that the job can run.

        Raises:
            InvalidInput: if the policy does not accept the request, or the job lacks a queue of the discipline.
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
            if self._as_totals:
                taken = as_total(request)
            else:
                taken = as_taken(request, self._policy, singles_stay=self._singles_stay)
        except InvalidInput as error:
            raise InvalidInput(f"Job {job_id}: {error}") from error
        form = JobForm(request, taken)
        self._forms[id(request)] = form
        return form

    def _try(self, job_id: int, form: JobForm, queue: int | None) -> None:
        self._feasibility.check(WaitingJob(job_id, form.request, queue), form.offered.components)
        form.possible_queues.add(queue)


def check_times(job: StreamJob) -> None:
    """Check the arrival and service time of a job.

    Raises:
        InvalidInput: if a time is negative or not finite.
    """
    for name, value_s in (("arrival_s", job.arrival_s), ("service_s", job.service_s)):
        if not (math.isfinite(value_s) and value_s >= 0):
            raise InvalidInput(f"Job {job.id}: {name}: must be a number of seconds, zero or more, not {value_s!r}.")
