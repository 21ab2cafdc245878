"""From a measurement and its check at twice the dilation to what differs, cell by cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulator.campaigns.extension_rows import interconnect, values
from emulator.campaigns.matrix import Cell, Layout, Problem, Way
from emulator.campaigns.recorded_cells import SessionRuns
from emulator.campaigns.statistics import Estimate, ratio_of_means, ratio_of_products
from emulator.fidelity.invariance import is_defect
from emulator.fidelity.verdict import Verdict
from emulator.model.attribution import InvarianceRow
from emulator.model.views import JobView


def invariance_rows(layout: Layout, asked: SessionRuns, check: SessionRuns) -> tuple[InvarianceRow, ...]:
    """A row for each cell that was run at both dilations, in the order of the matrix; none for synchronized ones."""
    return tuple(row for cells in layout.problems for row in _of_problem(cells, asked, check))


def defects(rows: Sequence[InvarianceRow]) -> tuple[str, ...]:
    """A sentence for each figure that was valid at both dilations and differs by too much."""
    return tuple(
        f"{Problem(row.application, row.grid, row.processors).shown} {Way(row.clusters).shown}: valid, but its "
        f"{'extension factor' if row.extension_factor else 'runtime'} at dilation "
        f"{row.check_dilation:g} differs by {row.difference:+.1%} from that at {row.dilation:g}"
        for row in rows
        if row.defect
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """A cell as it was measured at one dilation: its `jobs`, and the `singles` that its factor compares them with."""

    session: SessionRuns
    jobs: Sequence[JobView]
    singles: Sequence[JobView]

    @property
    def runtimes_s(self) -> list[float]:
        """Of the cell's runs."""
        return values(self.jobs, "runtime_s")

    @property
    def single_runtimes_s(self) -> list[float]:
        """Of the runs in one cluster."""
        return values(self.singles, "runtime_s")

    @property
    def factor(self) -> float | None:
        """The extension factor; None if there is nothing to compare with."""
        estimate = ratio_of_means(self.runtimes_s, self.single_runtimes_s)
        return None if estimate is None else estimate.value

    @property
    def verdict(self) -> Verdict:
        """The worst of all that the figure comes from."""
        return self.session.judged([*self.jobs, *self.singles])


def _of_problem(cells: Sequence[Cell], asked: SessionRuns, check: SessionRuns) -> Iterator[InvarianceRow]:
    single = next((cell for cell in cells if cell.way.is_single), None)
    for cell in cells:
        first, again = (_side(session, cell, single) for session in (asked, check))
        if first.jobs and again.jobs and not cell.synchronized:
            yield _row(cell, first, again)


def _side(session: SessionRuns, cell: Cell, single: Cell | None) -> _Side:
    jobs = session.finished.get(cell.name, ())
    singles = () if single is None or cell is single else session.finished.get(single.name, ())
    return _Side(session, jobs, singles)


def _row(cell: Cell, first: _Side, again: _Side) -> InvarianceRow:
    difference = _difference(first, again)
    verdict = Verdict.worst_of([first.verdict, again.verdict])
    return InvarianceRow(
        **cell.columns,
        interconnect=interconnect(first.jobs),
        dilation=first.session.dilation.factor,
        check_dilation=again.session.dilation.factor,
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
    """The factor at the larger dilation over the one at the other; where there is none, the runtime."""
    if first.singles and again.singles:
        ratio = ratio_of_products(
            [again.runtimes_s, first.single_runtimes_s], [first.runtimes_s, again.single_runtimes_s]
        )
    else:
        ratio = ratio_of_means(again.runtimes_s, first.runtimes_s)
    assert ratio is not None, "runtimes are positive"
    return ratio
