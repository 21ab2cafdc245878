"""Counts that change with time: from their changes to rows, to means over a period, and to what a figure can draw."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Change = tuple[float, int]
"""A timestamp, and by how much a count changes then."""


class Steps(NamedTuple):
    """Counts by name; the value at an index holds from that timestamp to the next one."""

    times_s: list[float]
    values: dict[str, list[float]]


def steps(changes: Mapping[str, Iterable[Change]]) -> Steps:
    """Return the sums of the changes of each count, at every timestamp at which one changes."""
    at: dict[float, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, of_name in changes.items():
        for time_s, by in of_name:
            at[time_s][name] += by
    times_s = sorted(at)
    values: dict[str, list[float]] = {}
    for name in changes:
        total, values[name] = 0, []
        for time_s in times_s:
            total += at[time_s].get(name, 0)
            values[name].append(total)
    return Steps(times_s, values)


def mean_between(times_s: Sequence[float], values: Sequence[float], begin_s: float, end_s: float) -> float:
    """Return the mean over time of a count between two timestamps; it is 0 before its first one."""
    first, last = max(0, bisect_right(times_s, begin_s) - 1), bisect_left(times_s, end_s)
    if end_s <= begin_s or last <= first:
        return 0.0
    ends_s = [*times_s[first + 1 : last], end_s]
    held = (
        value * (min(until_s, end_s) - max(from_s, begin_s))
        for from_s, until_s, value in zip(times_s[first:last], ends_s, values[first:last], strict=True)
    )
    return sum(held) / (end_s - begin_s)


def averaged(found: Steps, end_s: float, most: int) -> Steps:
    """Return the counts themselves, or their means over `most` equal periods if they change more often than that."""
    if len(found.times_s) <= most:
        return found
    return _binned(found, end_s, most, largest=False)


def highest(found: Steps, end_s: float, most: int) -> Steps:
    """Return the counts themselves, or their maxima in `most` equal periods if they change more often than that."""
    if len(found.times_s) <= most:
        return found
    return _binned(found, end_s, most, largest=True)


def _binned(found: Steps, end_s: float, most: int, *, largest: bool) -> Steps:
    """Return a value per period; one pass over the changes."""
    begin_s = found.times_s[0]
    width_s = (end_s - begin_s) / most
    values: dict[str, list[float]] = {}
    for name, series in found.values.items():
        summed, peak = [0.0] * most, [0.0] * most
        for from_s, until_s, value in zip(found.times_s, [*found.times_s[1:], end_s], series, strict=True):
            first = min(most - 1, int((from_s - begin_s) / width_s))
            last = min(most - 1, int((until_s - begin_s) / width_s))
            for period in range(first, last + 1):
                low_s = begin_s + period * width_s
                held_s = max(0.0, min(until_s, low_s + width_s) - max(from_s, low_s))
                summed[period] += value * held_s
                if held_s > 0 or until_s == from_s:
                    peak[period] = max(peak[period], value)
        values[name] = peak if largest else [total / width_s for total in summed]
    return Steps([begin_s + period * width_s for period in range(most)], values)
