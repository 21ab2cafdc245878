"""The rows of what control runs say of extension factors: what they are made of, and whether they hold."""

from __future__ import annotations

from emulator.model.rows import Row, Sizes


class _CellRow(Row):
    """A row about a cell of a measurement."""

    application: str
    grid: int | None = None
    processors: int
    components: Sizes
    clusters: int


class AttributionRow(_CellRow):
    """What one `part` contributes to an extension factor, or the `whole` of it, in runtimes of the single cluster.

    `single_share` is its share of that runtime itself, `added` what it adds to the factor, with its 95% CI, `added_s`
    the same in seconds. The shares of all parts are 1, what they add is the whole: the factor less one. `n` counts the
    runs of the cell as asked.
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
    """A cell measured at two dilations: its runtime and extension factor at each, and by how much they differ.

    `difference` is relative, with its 95% CI: that of the factor, or of the runtime where there is no other factor than
    1. `defect` where it is too large for figures that both were valid.
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
