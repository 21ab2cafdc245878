"""How many processors the jobs of a run held: where nodes are exclusive, more than they ran processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from emulator.model.records import ComponentRow, JobRow


def held_processors(jobs: Iterable[JobRow], components: Iterable[ComponentRow]) -> dict[int, int]:
    """Return the processors of each job by its number: those of its components as placed, else what it asked for."""
    placed: Counter[int] = Counter()
    for row in components:
        placed[row.job] += row.processors
    return {job.job: placed[job.job] or job.processors for job in jobs}
