"""The disk that a campaign's input files take: how much of it at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """The input file of a job as planned, in emulated seconds.

    Its replicas of `kept_bytes` are there from before the arrival to the job's end, copies of `brought_bytes` in all
    from placement on.
    """

    arrival_s: float
    placed_s: float
    finish_s: float
    kept_bytes: float
    brought_bytes: float = 0.0


def peak_bytes(files: Sequence[PlannedFile], lead_s: float) -> int:
    """Return the most bytes that exist at once, if replicas are made `lead_s` before their jobs arrive."""
    held = peak = 0.0
    for _, change_bytes in sorted(_changes(files, lead_s)):
        held += change_bytes
        peak = max(peak, held)
    return round(peak)


def _changes(files: Sequence[PlannedFile], lead_s: float) -> Iterator[tuple[float, float]]:
    for file in files:
        yield max(0.0, file.arrival_s - lead_s), file.kept_bytes
        yield file.placed_s, file.brought_bytes
        yield file.finish_s, -(file.kept_bytes + file.brought_bytes)
