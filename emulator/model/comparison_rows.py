"""Rows that compare measurements: with their parts, with another dilation, and with published numbers."""

from __future__ import annotations

from emulator.model.rows import Row, Sizes, spread_over


class _CellRow(Row):
    """A row about a cell of a measurement."""

    application: str
    grid: int | None = None
    processors: int
    components: Sizes
    clusters: int

    @property
    def spread_over(self) -> str:
        """The number of clusters, with the sizes of its parts if these are not equal."""
        return spread_over(self.clusters, self.components)


class AttributionRow(_CellRow):
    """The contribution of one `part` to an extension factor, or the `whole`, in units of the single-cluster runtime.

    `single_share` is the part's share of the single-cluster runtime. `added` is what it adds to the factor, with a 95%
    CI, and `added_s` is the same in seconds. The shares of all parts sum to 1; their additions sum to the whole, which
    is the factor minus one. `n` counts the cell's runs over the whole wide area.
    """

    dilation: float
    part: str
    single_share: float
    added: float
    added_s: float
    ci_low: float | None = None
    ci_high: float | None = None
    n: int
    verdict: str


class InvarianceRow(_CellRow):
    """A cell measured at two dilations: its runtime and extension factor at each, and their difference.

    `difference` is the relative difference of the factors, with a 95% CI; where the factor is 1 by definition, it is
    that of the runtimes. `defect` is true if both figures were called valid and the difference is too large for that.
    """

    interconnect: str = ""
    dilation: float
    check_dilation: float
    runtime_s: float
    check_runtime_s: float
    extension_factor: float | None = None
    check_extension_factor: float | None = None
    difference: float
    ci_low: float | None = None
    ci_high: float | None = None
    n: int
    verdict: str
    defect: bool


class ReproductionRow(Row):
    """A cell of a published table: what was published, what was measured, and the relative errors.

    `quantity` is runtime, or communication (synchronized or not). Published numbers are missing where none were
    printed. `iterations` is the published number; `measured_s` is that number times the measured `iteration_s`. With a
    `processor_speed` S, the processors computed S times as fast, and `error` compares S times the measured value. A
    factor is relative to one cluster under PBS. `calibrated` is true if the topology was calibrated on this cell.
    """

    quantity: str
    application: str
    grid: int | None = None
    processors: int
    setup: str
    dilation: float
    processor_speed: float
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
