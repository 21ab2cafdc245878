"""Rows about cells of a measurement: what was measured, and how it compares with its parts and with other numbers."""

from __future__ import annotations

from emulator.model.rows import Row, Sizes, spread_over


class CellRow(Row):
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


class ExtensionFactorRow(CellRow):
    """The extension factor of an application over `clusters` clusters: the mean of `n` runs, with a 95% CI.

    `reasons` are those of its verdict; a valid one has none.
    """

    interconnect_single: str = ""
    interconnect_coallocated: str = ""
    dilation: float
    runtime_s: float
    iteration_s: float | None = None
    extension_factor: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int
    verdict: str
    reasons: str = ""


class CommunicationRow(CellRow):
    """The communication time of a cell's runs over all their `iterations`: the mean of `n` runs, with a 95% CI.

    `communication_s` is the total communication time as the measurement study on DAS-2 defines it: the time from the
    end of computation of the last process to the end of communication of the last process, summed over the iterations.
    `least_s` and `most_s` are the extremes of single runs. `exchange` is how borders are exchanged (in steps, or
    overlapped), `synchronized` whether a barrier precedes the exchange. `border_exchange_bytes` is what the process
    with the most traffic sends and receives in an iteration. `data_rate_mbit`, for synchronized runs only, is that
    amount over the communication time.
    """

    interconnect: str = ""
    dilation: float
    exchange: str = ""
    synchronized: bool
    iterations: int
    communication_s: float
    ci_low: float | None = None
    ci_high: float | None = None
    least_s: float
    most_s: float
    border_exchange_bytes: int | None = None
    data_rate_mbit: float | None = None
    n: int
    verdict: str


class BorderExchangeRow(CellRow):
    """The border exchange time of one process over all iterations, by direction: the mean of a cell's `n` runs.

    `process` is its rank, `column` (from the left) and `row` (from the bottom) its place in the process grid, and
    `component` its component, all from 0. Directions are missing where all borders are exchanged at once. The 95% CI is
    that of `total_s`.
    """

    components: Sizes = ()
    interconnect: str = ""
    synchronized: bool
    process: int
    column: int
    row: int
    component: int
    top_s: float | None = None
    bottom_s: float | None = None
    left_s: float | None = None
    right_s: float | None = None
    total_s: float
    ci_low: float | None = None
    ci_high: float | None = None
    n: int


class AttributionRow(CellRow):
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


class InvarianceRow(CellRow):
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
