"""Where the parts of a run's jobs were: a policy may have placed other components than those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.model.records import ComponentRow, JobRow

Parts = tuple[tuple[str, int], ...]
"""The cluster of each component, empty if it was never placed, and its processors."""


def placed_parts(jobs: Sequence[JobRow], components: Sequence[ComponentRow]) -> Mapping[int, Parts]:
    """Return the parts of each job in the order of its components: as placed, else as asked for."""
    placed: dict[int, list[ComponentRow]] = {}
    for row in components:
        placed.setdefault(row.job, []).append(row)
    return {
        job.job: tuple((row.cluster, row.processors) for row in sorted(placed[job.job], key=lambda row: row.component))
        if job.job in placed
        else tuple(("", size) for size in job.components)
        for job in jobs
    }
