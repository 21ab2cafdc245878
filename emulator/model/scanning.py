"""How a queue is scanned: how often, whether also when a job departs, and how many tries a job has.

`Scanning` is the value that disciplines are made with; `StatedScanning` holds the same as keys of a document. All of it
is in emulated seconds: KOALA scanned every 4 s in "Communication-Aware Job Placement Policies", section 3, and at an
interval that adapts to the tries of the queued jobs in the Close-to-Files paper, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field, PositiveInt

from emulator.model.documents import DocumentModel

DEFAULT_SCAN_INTERVAL_S: Final = 4.0
LARGEST_TRIES_THRESHOLD: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Scanning:
    """When a queue is scanned, and when a job in it is given up.

    With `adaptive` the interval is `interval_s` times the mean number of tries of the queued jobs. A job that has been
    tried more than `tries_threshold` times is given up; None gives nobody up. With `at_departures` every job is tried
    also at once when another departs.
    """

    interval_s: float = DEFAULT_SCAN_INTERVAL_S
    adaptive: bool = False
    tries_threshold: int | None = None
    at_departures: bool = False

    def divided(self, time_scale: float) -> Scanning:
        """The same in seconds of a run whose times are divided by `time_scale`."""
        return replace(self, interval_s=self.interval_s / time_scale)


class StatedScanning(DocumentModel):
    """The keys with which a document states how its queue is scanned."""

    scan_interval_s: Annotated[float, Field(gt=0, le=86_400)] = DEFAULT_SCAN_INTERVAL_S
    adaptive_scans: bool = False
    tries_threshold: Annotated[PositiveInt, Field(le=LARGEST_TRIES_THRESHOLD)] | None = None
    scans_at_departures: bool = False

    @property
    def scanning(self) -> Scanning:
        """What these keys say."""
        return Scanning(self.scan_interval_s, self.adaptive_scans, self.tries_threshold, self.scans_at_departures)
