"""The check that needs no reference: the same measurement at the dilation K and at 2K must agree, cell by cell.

What does not dilate (waking ranks, copying messages, carrying packets) weighs half as much at 2K. If a figure changes
by more than the error to which links are verified, one of the two is wrong. If both were valid, the verdict is wrong.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.intervals import Estimate, ratio_of_means, ratio_of_products
from emulator.fidelity.thresholds import SUSPECT_ERROR
from emulator.fidelity.verdict import Judgement, Verdict
from emulator.model.cell_rows import InvarianceRow
from emulator.runs.cell_sessions import SessionRuns
from emulator.runs.extension_factors import interconnect, judged, values
from emulator.runs.matrix import Cell, CellVariant, Layout, Problem
from emulator.runs.recording import EndedJob

LARGEST_DIFFERENCE: Final = SUSPECT_ERROR
"""The largest relative difference between a figure at K and at 2K that may both be valid."""


def is_defect(difference: float, judgement: Judgement) -> bool:
    """Return whether figures with this `difference`, relative to the one at K, should not both have been valid."""
    return judgement is Judgement.VALID and abs(difference) > LARGEST_DIFFERENCE


def invariance_rows(layout: Layout, measurement: SessionRuns, check: SessionRuns) -> tuple[InvarianceRow, ...]:
    """Return a row for each cell that was run at both dilations, in the order of the matrix.

    Synchronized cells have none.
    """
    return tuple(row for cells in layout.problems for row in _of_problem(cells, measurement, check))


def defects(rows: Sequence[InvarianceRow]) -> tuple[str, ...]:
    """Return a sentence for each figure that was valid at both dilations and differs by too much."""
    return tuple(
        f"{Problem(row.application, row.grid, row.processors).shown} {_variant(row).shown}: valid, but its "
        f"{'extension factor' if row.extension_factor else 'runtime'} at dilation "
        f"{row.check_dilation:g} differs by {row.difference:+.1%} from that at {row.dilation:g}"
        for row in rows
        if row.defect
    )


def _variant(row: InvarianceRow) -> CellVariant:
    return CellVariant(row.clusters, split=row.components if len(set(row.components)) > 1 else ())


@dataclass(frozen=True, slots=True)
class _Side:
    """A cell as measured at one dilation: its `jobs`, and the `singles` that its factor compares them with."""

    jobs: Sequence[EndedJob]
    singles: Sequence[EndedJob]

    @property
    def runtimes_s(self) -> list[float]:
        """The runtimes of the cell's runs."""
        return values(self.jobs, "runtime_s")

    @property
    def single_runtimes_s(self) -> list[float]:
        """The runtimes of the runs in one cluster."""
        return values(self.singles, "runtime_s")

    @property
    def factor(self) -> float | None:
        """The extension factor; None if there is nothing to compare with."""
        estimate = ratio_of_means(self.runtimes_s, self.single_runtimes_s)
        return None if estimate is None else estimate.value

    @property
    def verdict(self) -> Verdict:
        """The worst verdict on all runs behind the figure."""
        return judged([*self.jobs, *self.singles])


def _of_problem(cells: Sequence[Cell], measurement: SessionRuns, check: SessionRuns) -> Iterator[InvarianceRow]:
    single = next((cell for cell in cells if cell.variant.is_single), None)
    for cell in cells:
        first, again = (_side(session, cell, single) for session in (measurement, check))
        if first.jobs and again.jobs and not cell.synchronized:
            yield _row(cell, first, again)


def _side(session: SessionRuns, cell: Cell, single: Cell | None) -> _Side:
    singles = () if single is None or cell is single else session.of(single.name)
    return _Side(session.of(cell.name), singles)


def _row(cell: Cell, first: _Side, again: _Side) -> InvarianceRow:
    difference = _difference(first, again)
    verdict = Verdict.worst_of([first.verdict, again.verdict])
    return InvarianceRow(
        **cell.columns,
        interconnect=interconnect(first.jobs),
        dilation=first.jobs[0].dilation,
        check_dilation=again.jobs[0].dilation,
        runtime_s=statistics.fmean(first.runtimes_s),
        check_runtime_s=statistics.fmean(again.runtimes_s),
        extension_factor=first.factor,
        check_extension_factor=again.factor,
        difference=difference.value - 1,
        ci_low=None if difference.low is None else difference.low - 1,
        ci_high=None if difference.high is None else difference.high - 1,
        n=len(first.runtimes_s),
        verdict=verdict.judgement,
        defect=is_defect(difference.value - 1, verdict.judgement),
    )


def _difference(first: _Side, again: _Side) -> Estimate:
    """Return the factor at the larger dilation over the other one; without a factor, the same of runtimes."""
    if first.singles and again.singles:
        ratio = ratio_of_products(
            [again.runtimes_s, first.single_runtimes_s], [first.runtimes_s, again.single_runtimes_s]
        )
    else:
        ratio = ratio_of_means(again.runtimes_s, first.runtimes_s)
    assert ratio is not None, "runtimes are positive"
    return ratio
