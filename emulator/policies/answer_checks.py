"""Checks of a discipline's answers: each starts a waiting job as a whole on idle processors, or rejects it.

The simulator and the broker use the same checks, so both refuse the same answers. The functions are pure, except that
`take` updates the list of idle processors that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.held_nodes import ranks
from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.protocols import Reject, Start

MOST_PAIRS: Final = 100_000
"""The most pairs of a history table that placements have added to: each later state and its record hold all of them."""


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


def take_for(idle: list[int], job_id: int, request: JobRequest, placement: Placement, together: int) -> None:
    """Subtract the processors of `placement` from `idle`; a component takes `together` of them at a time.

    Raises:
        InvalidInput: if the processors are not idle, or are not what the job of `request` is to hold.
    """
    held = request.processors
    if together > 1:
        ranks(request, placement, together)
        held = placement.processors
    take(idle, job_id, held, placement)


def _named(job_id: int | None) -> str:
    return "a job" if job_id is None else f"job {job_id}"


def does_not_wait(job_id: int) -> InvalidInput:
    """Return the error for an answer about a job that is not waiting."""
    return InvalidInput(f"The discipline answers for job {job_id}, which does not wait.")


def check_answers(
    answers: Sequence[Start | Reject],
    idle: Sequence[int],
    request_of_waiting: Callable[[int], JobRequest | None],
    together: int = 1,
) -> None:
    """Check the answers to one event against the `idle` processors per cluster.

    `request_of_waiting` returns the request of a waiting job, or None if the job is not waiting. A component of a job
    takes `together` processors at a time.

    Raises:
        InvalidInput: if an answer is about a job that is not waiting or was answered before, or a placement does not
            fit.
    """
    left = list(idle)
    answered: set[int] = set()
    for answer in answers:
        request = None if answer.job_id in answered else request_of_waiting(answer.job_id)
        if request is None:
            raise does_not_wait(answer.job_id)
        answered.add(answer.job_id)
        if isinstance(answer, Start):
            take_for(left, answer.job_id, request, answer.placement, together)


def check_history(history: Sized) -> None:
    """Check the size of a history table to which placements have added pairs.

    Raises:
        InvalidInput: if it is too large.
    """
    if len(history) > MOST_PAIRS:
        raise InvalidInput(
            f"The policy has learned too much: with {len(history)} pairs the history is longer than {MOST_PAIRS}."
        )
