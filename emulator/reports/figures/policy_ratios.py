"""Policies over seeds: each time under a policy over that under the first one, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.points import drawn_points, point_of
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.policies_over_seeds import ComparedPolicies, compared_policies
from emulator.reports.tables import policy_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def policy_ratios(runs: Sequence[ReportedRun]) -> list[ReportFigure]:
    """Return a figure for each campaign that has several policies over several seeds."""
    compared = compared_policies([run.records for run in runs])
    return [
        _figure(found, "" if len(compared) == 1 else f"-{number}") for number, found in enumerate(compared, start=1)
    ]


def _figure(compared: ComparedPolicies, ending: str) -> ReportFigure:
    first, seeds = compared.policies[0], ", ".join(map(str, compared.seeds))
    rows = policy_rows(compared)
    shows = (
        f"Means over the seeds {seeds} under a policy over those under {first}, with 95% intervals, paired by seed. "
        "Times are those of the jobs that finished under every policy. Left of one the policy has the lower value. "
        f"{compared.remark}"
    )
    return ReportFigure(
        f"policies-over-seeds{ending}",
        f"Policies of {compared.label} over seeds",
        shows.rstrip(),
        rows,
        lambda: _draw([row for row in rows if row["ratio"] is not None], first),
    )


def _draw(rows: Sequence[DataRow], first: str) -> Figure:
    points = [point_of(row, "policy", "ratio", "ratio_low", "ratio_high") for row in rows]
    quantities = {point.quantity: point.quantity for point in points}
    return drawn_points(points, quantities, 1.0, f"value over that under {first}")
