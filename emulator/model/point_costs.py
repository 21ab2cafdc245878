"""What a grid-point update costs the emulated processor: in cache, out of it, and between the two.

Without a memory the cost is a step: all points in cache or all out of it, 8 bytes a point. With one it is a curve, by
the bytes that a kernel really touches:

- A cache is indexed by physical addresses and holds, of the pages of each colour, as many as it has ways. A program's
  pages have random colours. A page misses if its colour has more pages than ways, so the share of misses is smooth: a
  tenth at two thirds of the cache's size, a half at its size, all at twice its size.
- Out of cache, processors of a node that compute at once share its memory.
- A sweep reads a point's neighbours above and below again. Rows that are too long for the first-level cache must be
  fetched a second time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from emulator.model.units import BYTES_PER_POINT, seconds_from_nanoseconds

PAGE_BYTES: Final = 4096

_ROWS_IN_USE: Final = 4
"""Rows that a five-point update has in use: three of the values, one of the right-hand side."""
_ROWS_EVICTED_FROM: Final = 0.75
_ROWS_STEEPNESS: Final = 6
"""Rows begin to evict each other at three quarters of a cache of few ways, and all do soon after that."""


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """What one sweep of a kernel goes over: its points, the bytes touched for each, and the points of its rows."""

    points: int
    bytes_per_point: int = BYTES_PER_POINT
    row_points: int = 0

    @property
    def touched_bytes(self) -> int:
        """The bytes of the working set."""
        return self.points * self.bytes_per_point


@dataclass(frozen=True, slots=True)
class MemoryCosts:
    """The cache's ways, the first-level cache, and what sharing a memory and long rows add to a point out of cache.

    `shared_share` is added to the time out of cache, as a share of it, for each further processor of the node that
    computes at once. `long_row_ns_per_point` is added if rows do not fit `first_level_bytes`.
    """

    cache_ways: int
    first_level_bytes: int
    shared_share: float
    long_row_ns_per_point: float


@dataclass(frozen=True, slots=True)
class PointCosts:
    """The emulated nanoseconds of a grid-point update in cache and out of it; a step without `memory`, else a curve."""

    in_cache_ns_per_point: float
    out_of_cache_ns_per_point: float
    cache_bytes: int
    memory: MemoryCosts | None = None

    def fits_cache(self, points: int) -> bool:
        """Return whether a working set of `points` grid points fits the cache, at 8 bytes a point."""
        return points * BYTES_PER_POINT <= self.cache_bytes

    def mostly_in_cache(self, working_set: WorkingSet) -> bool:
        """Return whether at least half of the points of `working_set` are in cache."""
        if self.memory is None:
            return self.fits_cache(working_set.points)
        return miss_share(working_set.touched_bytes, self.cache_bytes, self.memory.cache_ways) <= 0.5

    def ns_per_point(self, working_set: WorkingSet, computing: int = 1) -> float:
        """Return the cost of a point of `working_set` while `computing` processors of the node compute."""
        if self.memory is None:
            return self.in_cache_ns_per_point if self.fits_cache(working_set.points) else self.out_of_cache_ns_per_point
        missing = miss_share(working_set.touched_bytes, self.cache_bytes, self.memory.cache_ways)
        fetched_ns = self.out_of_cache_ns_per_point - self.in_cache_ns_per_point
        fetched_ns *= 1.0 + self.memory.shared_share * (computing - 1)
        long_rows_ns = self.memory.long_row_ns_per_point * _long_row_share(
            working_set.row_points, self.memory.first_level_bytes
        )
        return self.in_cache_ns_per_point + missing * (fetched_ns + long_rows_ns)

    def duration_s(self, working_set: WorkingSet, computing: int = 1) -> float:
        """Return the emulated seconds of a sweep over `working_set` while `computing` processors of a node compute."""
        return seconds_from_nanoseconds(working_set.points * self.ns_per_point(working_set, computing))


def miss_share(touched_bytes: int, cache_bytes: int, cache_ways: int) -> float:
    """Return the share of a swept working set that misses a cache, if its pages have random colours.

    A page misses if at least as many others as the cache has ways are of its colour.
    """
    pages = max(1.0, touched_bytes / PAGE_BYTES)
    whole = int(pages)
    below, above = (_overflowing(count, cache_bytes, cache_ways) for count in (whole, whole + 1))
    return below + (pages - whole) * (above - below)


@lru_cache(maxsize=4096)
def _overflowing(pages: int, cache_bytes: int, ways: int) -> float:
    """Return the probability that `ways` or more of the `pages` - 1 other pages have the colour of a page."""
    colours = max(1.0, cache_bytes / (ways * PAGE_BYTES))
    others = pages - 1
    if colours <= 1.0:
        return 1.0 if others >= ways else 0.0
    hit, odds = 0.0, 1.0 / (colours - 1.0)
    log_term = others * math.log1p(-1.0 / colours)
    for same in range(min(ways, others + 1)):
        hit += math.exp(log_term)
        if same < others:
            log_term += math.log((others - same) / (same + 1) * odds)
    return min(1.0, max(0.0, 1.0 - hit))


def _long_row_share(row_points: int, first_level_bytes: int) -> float:
    rows_bytes = _ROWS_IN_USE * BYTES_PER_POINT * row_points
    return 1.0 - math.exp(-((rows_bytes / (_ROWS_EVICTED_FROM * first_level_bytes)) ** _ROWS_STEEPNESS))
