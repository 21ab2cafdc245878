"""Conversion of the answers of a researcher's own code to plain values.

Other numbers, such as numpy's, become Python numbers because decisions are written to files. Other types are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any

from emulator.model.placement import Component, Placement
from emulator.policies.protocols import Reject, Start


def plain_placement(placement: Any) -> Placement | None:
    """Return `placement` with plain numbers, or None.

    Raises:
        TypeError: if `placement` is neither a placement nor None, or holds a value that is not a number.
        ValueError: if its transfers do not take a finite time of at least 0 s.
    """
    if placement is None:
        return None
    if not isinstance(placement, Placement):
        raise TypeError(f"a Placement or None is an answer, {type(placement).__name__} is not")
    return Placement(
        tuple(
            [
                Component(index(component.cluster), index(component.processors), _indices(component.nodes))
                for component in placement.components
            ]
        ),
        _indices(placement.file_sites),
        _duration_s(placement.transfer_s),
        frozenset([(index(cluster), index(site)) for cluster, site in placement.learned]),
    )


def plain_answers(answers: Iterable[Any]) -> list[Start | Reject]:
    """Return `answers` with plain numbers, in the same order.

    Raises:
        TypeError: if an answer is neither a start nor a rejection, or a start has no placement.
    """
    return [_plain_answer(answer) for answer in answers]


def plain_timestamp_s(timestamp_s: Any) -> float | None:
    """Return a timestamp in emulated seconds, or None.

    Raises:
        TypeError: if the value is neither a number nor None.
        ValueError: if the number is not finite.
    """
    return None if timestamp_s is None else _finite(timestamp_s)


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


def _duration_s(value: Any) -> float:
    duration_s = _finite(value)
    if duration_s < 0.0:
        raise ValueError(f"a transfer takes at least 0 s, not {duration_s!r}")
    return duration_s


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no number of seconds")
    return number
