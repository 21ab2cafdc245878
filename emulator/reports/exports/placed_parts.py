"""Where the parts of a run's jobs were: a policy may have placed other components than those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from emulator.model.records import ComponentRow, JobRow

Parts = tuple[tuple[str, int], ...]
"""The cluster of each component, empty if it was never placed, and its processors."""


def placed_parts(jobs: Sequence[JobRow], components: Sequence[ComponentRow]) -> Mapping[int, Parts]:
    """Return the parts of each job in the order of its components: as placed, else as asked for."""
    placed: dict[int, list[ComponentRow]] = {}
    for row in sorted(components, key=lambda row: row.component):
        placed.setdefault(row.job, []).append(row)
    return {job.job: _parts(job, placed.get(job.job, ())) for job in jobs}


def _parts(job: JobRow, placed: Sequence[ComponentRow]) -> Parts:
    if placed:
        return tuple((row.cluster, row.processors) for row in placed)
    clusters = job.execution_clusters if len(job.execution_clusters) == len(job.components) else ()
    return tuple(zip(clusters or repeat(""), job.components, strict=False))
