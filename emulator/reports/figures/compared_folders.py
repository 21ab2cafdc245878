"""Live runs beside simulations of them, over seeds: the errors, and the ratios of policies on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.reports.comparison_tables import shown_errors
from emulator.reports.errors_over_seeds import ComparedFolders, ErrorOverSeeds
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.points import Point, drawn_points, point_of
from emulator.reports.policies_live_and_simulated import PoliciesOnBothSides, policies_on_both_sides
from emulator.reports.policy_tables import side_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures_of_folders(folders: ComparedFolders) -> list[ReportFigure]:
    """Return the figures of a folder of live runs and one of their simulations, as far as there is data for them."""
    rows = [_error_row(campaign.label, error) for campaign in folders.campaigns for error in shown_errors(campaign)]
    errors = [_of_errors(rows)] if any(row["error"] is not None for row in rows) else []
    compared = [found for found in policies_on_both_sides(folders) if any(each.agreement for each in found.quantities)]
    endings = [""] if len(compared) == 1 else [f"-{number}" for number in range(1, len(compared) + 1)]
    return [*errors, *(_of_policies(found, ending) for found, ending in zip(compared, endings, strict=True))]


def _of_errors(rows: Sequence[DataRow]) -> ReportFigure:
    return ReportFigure(
        "errors-over-seeds",
        "Errors over seeds",
        "The error of the simulated mean over seeds relative to the live one, with 95% intervals, of each campaign and "
        "policy over its own seeds.",
        rows,
        lambda: _drawn_errors([row for row in rows if row["error"] is not None]),
    )


def _error_row(campaign: str, error: ErrorOverSeeds) -> DataRow:
    ratio = error.ratio
    return {
        "campaign": campaign,
        "quantity": f"{error.name} {error.statistic}".strip(),
        "live": error.live,
        "simulated": error.simulated,
        "error": None if ratio is None else ratio.value - 1,
        "error_low": None if ratio is None or ratio.low is None else ratio.low - 1,
        "error_high": None if ratio is None or ratio.high is None else ratio.high - 1,
        "largest_error_of_a_seed": error.largest,
        "live_spread": error.spread,
        "seeds": None if ratio is None else ratio.n,
    }


def _drawn_errors(rows: Sequence[DataRow]) -> Figure:
    points = [point_of(row, "campaign", "error", "error_low", "error_high") for row in rows]
    return drawn_points(points, _titles(points), 0.0, "error of the simulated mean (0.1 is 10%)")


def _of_policies(compared: PoliciesOnBothSides, ending: str) -> ReportFigure:
    first, seeds = compared.policies[0], ", ".join(map(str, compared.seeds))
    rows = side_rows(compared)
    shows = (
        f"Means over the seeds {seeds} of the ratio of a policy to {first}, with 95% intervals. Times are those of the "
        "jobs that finished under every policy, live and simulated. Left of one the policy has the lower value. "
        f"{compared.remark}"
    )
    return ReportFigure(
        f"policies-live-and-simulated{ending}",
        f"Policies of {compared.label}, live and simulated",
        shows.rstrip(),
        rows,
        lambda: _drawn_ratios(rows, first),
    )


def _drawn_ratios(rows: Sequence[DataRow], first: str) -> Figure:
    points = [_ratio(row, side) for row in rows for side in ("live", "simulated") if row[f"{side}_ratio"] is not None]
    return drawn_points(points, _titles(points), 1.0, f"value over that under {first}")


def _ratio(row: DataRow, side: str) -> Point:
    named = {**row, "name": f"{row['policy']}, {side}"}
    return point_of(named, "name", f"{side}_ratio", f"{side}_ratio_low", f"{side}_ratio_high")


def _titles(points: Sequence[Point]) -> dict[str, str]:
    return {point.quantity: point.quantity for point in points}
