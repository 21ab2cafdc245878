"""Which jobs of a run are equal but for their length, so that their iterations can be compared.

A campaign that states execution times gives each job another number of iterations.
"""

from __future__ import annotations

import json
from typing import Any

from apps.registry import APPLICATIONS
from emulator.model.interconnects import SHARED_MEMORY, Interconnects
from emulator.model.records import JobRow


def but_for_its_length(job: JobRow) -> tuple[str, float]:
    """Return the arguments of a job without its length, and its length: its times divided by that are an iteration's.

    Of a job whose length is not known, all arguments are returned, and 1.
    """
    stated = _arguments(job)
    descriptor = APPLICATIONS.get(job.application)
    if stated is None or descriptor is None:
        return job.arguments, 1.0
    length = stated.pop(descriptor.length, None)
    made = job.iterations or length
    if not isinstance(made, int) or made < 1:
        return job.arguments, 1.0
    return json.dumps(stated, sort_keys=True), float(made)


def is_as_coallocated(job: JobRow, interconnects: Interconnects) -> bool:
    """Return whether a job ran in one cluster, but over another interconnect than such jobs do.

    Extension factors are not relative to it. A row without interconnects, as those of simulations, is of no such job.
    """
    usual = interconnects.of(1)
    name = SHARED_MEMORY if usual is None else usual.name
    return job.clusters == 1 and job.interconnects not in ("", name)


def _arguments(job: JobRow) -> dict[str, Any] | None:
    try:
        found = json.loads(job.arguments)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
