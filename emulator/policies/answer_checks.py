"""Checks of a discipline's answers: each starts a waiting job as a whole on idle processors, or rejects it.

The simulator and the broker use the same checks, so both refuse the same answers. The functions are pure, except that
`take` updates the list of idle processors that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.policies.protocols import Reject, Start


def take(idle: list[int], job_id: int | None, requested: int, placement: Placement) -> None:
    """Subtract the processors of `placement` from `idle`, the idle processors per cluster.

    `requested` is the number of processors of the job's request. `job_id` is only used in messages; it is None where a
    policy is asked about a request and the job is unknown.

    Raises:
        InvalidInput: if the processors are not idle, or their number differs from `requested`.
    """
    processors = 0
    for component in placement.components:
        cluster = component.cluster
        if cluster < 0 or cluster >= len(idle):
            raise InvalidInput(
                f"The policy places {_named(job_id)} on cluster {cluster}, but there are only 0 to {len(idle) - 1}."
            )
        left = idle[cluster] - component.processors
        if left < 0 or component.processors < 1:
            raise InvalidInput(
                f"The policy places {component.processors} processors of {_named(job_id)} on cluster {cluster}, "
                f"where {idle[cluster]} are idle."
            )
        idle[cluster] = left
        processors += component.processors
    if processors != requested:
        raise InvalidInput(
            f"The policy places {processors} processors for {_named(job_id)}, which asked for {requested}."
        )


def _named(job_id: int | None) -> str:
    return "a job" if job_id is None else f"job {job_id}"


def does_not_wait(job_id: int) -> InvalidInput:
    """Return the error for an answer about a job that is not waiting."""
    return InvalidInput(f"The discipline answers for job {job_id}, which does not wait.")


def check_answers(
    answers: Sequence[Start | Reject], idle: Sequence[int], asked_by_waiting: Callable[[int], int | None]
) -> None:
    """Check the answers to one event against the `idle` processors per cluster.

    `asked_by_waiting` returns the number of processors that a waiting job asked for, or None if the job is not waiting.

    Raises:
        InvalidInput: if an answer is about a job that is not waiting or was answered before, or a placement does not
            fit.
    """
    left = list(idle)
    answered: set[int] = set()
    for answer in answers:
        requested = None if answer.job_id in answered else asked_by_waiting(answer.job_id)
        if requested is None:
            raise does_not_wait(answer.job_id)
        answered.add(answer.job_id)
        if isinstance(answer, Start):
            take(left, answer.job_id, requested, answer.placement)
