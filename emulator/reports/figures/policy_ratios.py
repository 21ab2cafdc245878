"""Policies over seeds: each time under a policy over that under the first one, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.run_differences import MARKERS
from emulator.reports.policies_over_seeds import ComparedPolicies, OverSeeds, compared_policies

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
    rows = [_row(found, compared) for found in compared.quantities]
    return ReportFigure(
        f"policies-over-seeds{ending}",
        f"Policies of {compared.label} over seeds",
        f"Means over the seeds {seeds} under a policy over those under {first}, with 95% intervals, paired by seed. "
        "Times are those of the jobs that finished under every policy. Left of one the policy has the lower value.",
        rows,
        lambda: _draw([row for row in rows if row["ratio"] is not None], first),
    )


def _row(found: OverSeeds, compared: ComparedPolicies) -> DataRow:
    ratio = found.ratio
    return {
        "policy": found.policy,
        "first_policy": compared.policies[0],
        "quantity": f"{found.name} {found.statistic}".strip(),
        "mean": found.mean.value,
        "mean_low": found.mean.low,
        "mean_high": found.mean.high,
        "ratio": None if ratio is None else ratio.value,
        "ratio_low": None if ratio is None else ratio.low,
        "ratio_high": None if ratio is None else ratio.high,
        "seeds": len(compared.seeds),
    }


def _draw(rows: Sequence[DataRow], first: str) -> Figure:
    policies = list(dict.fromkeys(str(row["policy"]) for row in rows))
    quantities = list(dict.fromkeys(str(row["quantity"]) for row in rows))
    figure, (axis,) = panels(0.16 * len(rows) + 1.3)
    for place, policy in enumerate(policies):
        for number, row in enumerate(row for row in rows if row["policy"] == policy):
            value, low, high = (float(row[column] or 0.0) for column in ("ratio", "ratio_low", "ratio_high"))
            errors = None if row["ratio_low"] is None else [[value - low], [high - value]]
            at = quantities.index(str(row["quantity"])) + 0.6 * (place - (len(policies) - 1) / 2) / len(policies)
            axis.errorbar(
                [value], [at], xerr=errors, fmt=MARKERS[place % len(MARKERS)], color=COLOURS[place % len(COLOURS)],
                markersize=4.5, capsize=2.5, linewidth=1.0, label=policy if number == 0 else None,
            )  # fmt: skip
    axis.axvline(1.0, color="#000000", linewidth=0.7)
    axis.set_yticks(range(len(quantities)), quantities)
    axis.set_ylim(len(quantities) - 0.5, -0.5)
    axis.set_xlabel(f"value over that under {first}")
    one_legend(figure, [axis], columns=3)
    return figure
