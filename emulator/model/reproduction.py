"""The row type of ``reproduction.csv``: a published number beside the measured one."""

from __future__ import annotations

from emulator.model.rows import Row


class ReproductionRow(Row):
    """A cell of a published table: what was published, what was measured, and the relative errors.

    `quantity` is runtime, or communication (synchronized or not). Published numbers are missing where there were none.
    `iterations` are the published ones, for which `measured_s` stands: so many times the measured `iteration_s`. With a
    `time_scale` S, `iteration_s` and `measured_s` are scaled, and `error` compares S times the measured. A factor is
    relative to one cluster under PBS. `calibrated` says that this cell is among those the topology's numbers came from.
    """

    quantity: str
    application: str
    grid: int | None = None
    processors: int
    setup: str
    dilation: float
    time_scale: float
    iterations: int | None = None
    iteration_s: float
    published_s: float | None = None
    measured_s: float | None = None
    error: float | None = None
    published_factor: float | None = None
    factor: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    factor_error: float | None = None
    calibrated: bool
    n: int
    verdict: str
