"""What a discipline may answer: starts of jobs that wait, whole, on processors that are idle.

The simulator and the broker both check by this, so that a discipline or policy is refused live for what it is refused
for in the simulator. Pure: a list of idle processors is taken from, in the order of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.policies.protocols import Reject, Start


def take(idle: list[int], job_id: int | None, asked: int, placement: Placement) -> None:
    """Take the processors of `placement`, for a job that `asked` for so many, from those `idle` per cluster.

    `job_id` is only named; a policy that is asked about a request does not know whose it is (None).

    Raises:
        InvalidInput: if they are not there, or are not as many as were asked for.
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
    if processors != asked:
        raise InvalidInput(f"The policy places {processors} processors for {_named(job_id)}, which asked for {asked}.")


def _named(job_id: int | None) -> str:
    return "a job" if job_id is None else f"job {job_id}"


def does_not_wait(job_id: int) -> InvalidInput:
    """The error for an answer about a job that does not wait."""
    return InvalidInput(f"The discipline answers for job {job_id}, which does not wait.")


def check_answers(
    answers: Sequence[Start | Reject], idle: Sequence[int], asked_by_waiting: Callable[[int], int | None]
) -> None:
    """Let the answers to one event pass; `asked_by_waiting` tells a waiting job's processors, of others None.

    Raises:
        InvalidInput: if one is about a job that does not wait, or was answered for before, or a placement does not fit.
    """
    left = list(idle)
    answered: set[int] = set()
    for answer in answers:
        asked = None if answer.job_id in answered else asked_by_waiting(answer.job_id)
        if asked is None:
            raise does_not_wait(answer.job_id)
        answered.add(answer.job_id)
        if isinstance(answer, Start):
            take(left, answer.job_id, asked, answer.placement)
