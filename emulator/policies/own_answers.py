"""What own code answers, as the plain values that everything else counts on.

Numbers of other kinds (numpy's) become Python's where they can, since decisions are written down; all else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any

from emulator.model.placement import Component, Placement
from emulator.policies.protocols import Reject, Start


def plain_placement(placement: Any) -> Placement | None:
    """`placement` of plain numbers.

    Raises:
        TypeError: if it is neither a placement nor None, or holds something that is no number.
    """
    if placement is None:
        return None
    if not isinstance(placement, Placement):
        raise TypeError(f"a Placement or None is an answer, {type(placement).__name__} is not")
    return Placement(
        tuple([Component(index(it.cluster), index(it.processors), _indices(it.nodes)) for it in placement.components]),
        _indices(placement.file_sites),
        _finite(placement.transfer_s),
        frozenset([(index(cluster), index(site)) for cluster, site in placement.learned]),
    )


def plain_answers(answers: Iterable[Any]) -> list[Start | Reject]:
    """`answers` of plain numbers, in their order.

    Raises:
        TypeError: if one is neither a start nor a rejection, or a start has no placement.
    """
    return [_plain_answer(answer) for answer in answers]


def plain_moment_s(moment_s: Any) -> float | None:
    """A moment in emulated seconds, or None.

    Raises:
        TypeError: if it is neither.
        ValueError: if it is not finite.
    """
    return None if moment_s is None else _finite(moment_s)


def _plain_answer(answer: Any) -> Start | Reject:
    if isinstance(answer, Reject):
        return Reject(index(answer.job_id), str(answer.reason), index(answer.tries))
    if not isinstance(answer, Start):
        raise TypeError(f"a Start or a Reject is an answer, {type(answer).__name__} is not")
    placement = plain_placement(answer.placement)
    if placement is None:
        raise TypeError(f"the start of job {answer.job_id} has no placement")
    return Start(index(answer.job_id), placement, index(answer.tries))


def _indices(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple([index(value) for value in values])


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no number of seconds")
    return number
