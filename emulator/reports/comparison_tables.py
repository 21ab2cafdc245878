"""Live runs beside simulations of them, as tables and as one object for programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final

from emulator.model.counts import number_of
from emulator.model.records import RunKind
from emulator.reports.compared_runs import MAKESPAN, TIMES, UTILIZATION, Comparison, Quantity
from emulator.reports.errors_over_seeds import ComparedCampaign, ComparedFolders, ErrorOverSeeds
from emulator.reports.placement_differences import Parts
from emulator.reports.policies_live_and_simulated import policies_on_both_sides
from emulator.reports.policy_tables import sides_object
from emulator.reports.text import with_interval
from emulator.runs.run_directory import RunRecords
from emulator.runs.seeds import drawn_in, same_jobs_in_words

_IN_ERRORS: Final = (
    ("wait", "mean"), ("execution", "mean"), ("response", "mean"), ("response", "95%"), (MAKESPAN, ""),
    (UTILIZATION, ""),
)  # fmt: skip
"""The quantities that a table or a figure of errors over seeds shows; the object for programs has all."""

_IN_ERRORS_OF_A_RUN: Final = ((MAKESPAN, ""), ("wait", "mean"), ("execution", "mean"), ("response", "mean"))


def columns_of(comparison: Comparison, labels: tuple[str, str]) -> tuple[str, str]:
    """Return the headings of the two runs, whose labels differ: what kind each is of, and its label."""
    return _heading(comparison.live, labels[0]), _heading(comparison.simulated, labels[1])


def _heading(run: RunRecords, label: str) -> str:
    return f"{'live' if run.manifest.kind is RunKind.CAMPAIGN else 'simulated'}: {label}"


def quantity_table(comparison: Comparison, columns: tuple[str, str]) -> list[dict[str, str]]:
    """Return a row per quantity: both runs, the error, and the spread of the live runs if there are several."""
    return [
        {
            "quantity": f"{quantity.name} {quantity.statistic}".strip(),
            columns[0]: _number(quantity, quantity.live),
            columns[1]: _number(quantity, quantity.simulated),
            "error": "" if quantity.error is None else f"{quantity.error:+.2%}",
            "live runs' spread": "" if quantity.spread is None else f"{quantity.spread:.2%}",
            "within it": {None: "", True: "yes", False: "no"}[quantity.within_spread],
        }
        for quantity in comparison.quantities
    ]


def several_table(comparisons: Sequence[Comparison]) -> list[dict[str, str]]:
    """Return a row per quantity of one live run and several others: their mean, least and most, and where it lies."""
    by_key = [{(found.name, found.statistic): found for found in comparison.quantities} for comparison in comparisons]
    shared = [key for key in by_key[0] if all(key in others for others in by_key)]
    return [_several_row([others[key] for others in by_key]) for key in shared]


def _several_row(several: Sequence[Quantity]) -> dict[str, str]:
    first, values = several[0], [quantity.simulated for quantity in several]
    mean = statistics.fmean(values)
    return {
        "quantity": f"{first.name} {first.statistic}".strip(),
        "live": _number(first, first.live),
        "mean of the others": _number(first, mean),
        "error": f"{mean / first.live - 1:+.2%}" if first.live else "",
        "least": _number(first, min(values)),
        "most": _number(first, max(values)),
        "live lies between": "yes" if min(values) <= first.live <= max(values) else "no",
    }


def job_table(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row per job: its times live and simulated, and its placements."""
    different = {difference.job: difference for difference in comparison.placements.different}
    return [
        {
            "job": job.job,
            "name": job.name,
            **{
                f"{which}_{column}": getattr(row, column)
                for column in TIMES
                for which, row in (("live", job.live), ("simulated", job.simulated))
            },
            **{f"difference_of_{column}": job.difference_s(column) for column in TIMES},
            "same_placement": job.name not in different,
        }
        for job in comparison.jobs
    ]


def shown_jobs(comparison: Comparison) -> list[dict[str, str]]:
    """Return a row per job for people: by how much it starts later, and its times are longer, as simulated."""
    different = {difference.job for difference in comparison.placements.different}
    return [
        {
            "job": job.name,
            **{f"{text} (s)": _both(job.live, job.simulated, column) for column, text in TIMES.items()},
            "placement": "differs" if job.name in different else "same",
        }
        for job in comparison.jobs
    ]


def placement_table(comparison: Comparison, columns: tuple[str, str]) -> list[dict[str, str]]:
    """Return a row per job that was placed differently."""
    return [
        {"job": difference.job, columns[0]: _parts(difference.live), columns[1]: _parts(difference.simulated)}
        for difference in comparison.placements.different
    ]


def left_out_in_words(comparison: Comparison) -> str:
    """Return how many jobs the times are without, because they did not finish in every run; empty if there are none."""
    jobs = len(comparison.jobs)
    if comparison.finished == jobs:
        return ""
    return f"Times are those of the {comparison.finished} of {number_of(jobs, 'job')} that finished in every run."


def placements_in_words(comparison: Comparison) -> str:
    """Return how many placements differ, from which job on, and why."""
    placements = comparison.placements
    if placements.first is None:
        are = "The only placement is" if placements.placed == 1 else f"All {placements.placed} placements are"
        return f"{are} the same."
    differ = "differs" if len(placements.different) == 1 else "differ"
    return (
        f"{len(placements.different)} of {number_of(placements.placed, 'placement')} {differ}, the first is that of "
        f"job {placements.first}. {placements.because}"
    )


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Return everything that a comparison says, for programs."""
    placements = comparison.placements
    return {
        "live": str(comparison.live.path),
        "simulated": str(comparison.simulated.path),
        "seed": comparison.live.manifest.seed,
        "live_runs": comparison.live_runs,
        "finished": comparison.finished,
        "quantities": [
            {
                "quantity": quantity.name, "statistic": quantity.statistic, "live": quantity.live,
                "simulated": quantity.simulated, "error": quantity.error, "live_spread": quantity.spread,
                "within_spread": quantity.within_spread,
            }
            for quantity in comparison.quantities
        ],
        "placements": {
            "placed": placements.placed,
            "different": [
                {"job": found.job, "live": _parts(found.live), "simulated": _parts(found.simulated)}
                for found in placements.different
            ],
            "first": placements.first,
            "because": placements.because,
        },
        "jobs": job_table(comparison),
    }  # fmt: skip


def errors_table(campaigns: Sequence[ComparedCampaign]) -> list[dict[str, str]]:
    """Return a row per campaign and quantity: the means over seeds, their error, and the live runs' spread."""
    return [
        {
            "campaign": campaign.label,
            "seeds": str(campaign.seeds),
            "quantity": f"{error.name} {error.statistic}".strip(),
            "live": _number(error, error.live),
            "simulated": _number(error, error.simulated),
            "error [95% interval]": _error_in_words(error),
            "largest of a seed": "" if error.largest is None else f"{error.largest:+.2%}",
            "live runs' spread": "" if error.spread is None else f"{error.spread:.2%}",
        }
        for campaign in campaigns
        for error in shown_errors(campaign)
    ]


def shown_errors(campaign: ComparedCampaign) -> list[ErrorOverSeeds]:
    """Return the errors that a table or a figure shows."""
    return [error for error in campaign.errors if (error.name, error.statistic) in _IN_ERRORS]


def remarks(campaigns: Sequence[ComparedCampaign]) -> list[str]:
    """Return a sentence for each campaign with several seeds that do not draw its jobs."""
    found: list[str] = []
    for campaign in campaigns:
        manifests = [comparison.live.manifest for comparison in campaign.runs]
        drawn = drawn_in(manifests)
        sentence = same_jobs_in_words(manifests[0].name, drawn) if campaign.seeds > 1 else ""
        if sentence:
            found.append(sentence if drawn else f"{sentence} The intervals of its errors are over these repeats.")
    return list(dict.fromkeys(found))


def _error_in_words(error: ErrorOverSeeds) -> str:
    ratio = error.ratio
    if ratio is None:
        return ""
    low, high = (None if end is None else end - 1 for end in (ratio.low, ratio.high))
    return with_interval(ratio.value - 1, low, high, "+.2%")


def compared_runs_table(campaigns: Sequence[ComparedCampaign]) -> list[dict[str, str]]:
    """Return a row per live run: its verdict, the errors of its simulation, and how many placements differ."""
    return [_compared_run(campaign.label, comparison) for campaign in campaigns for comparison in campaign.runs]


def _compared_run(label: str, comparison: Comparison) -> dict[str, str]:
    errors = {(quantity.name, quantity.statistic): quantity.error for quantity in comparison.quantities}
    shown = {" ".join(key).strip(): errors.get(key) for key in _IN_ERRORS_OF_A_RUN}
    placements = comparison.placements
    return {
        "run": comparison.live.path.name,
        "campaign": label,
        "seed": str(comparison.live.manifest.seed),
        "verdict": comparison.live.manifest.verdict,
        **{name: "" if error is None else f"{error:+.2%}" for name, error in shown.items()},
        "placements that differ": f"{len(placements.different)} of {placements.placed}",
    }


def folders_object(folders: ComparedFolders) -> dict[str, Any]:
    """Return everything that a comparison of two folders of runs says, for programs."""
    return {
        "campaigns": [
            {
                "campaign": campaign.label,
                "seeds": campaign.seeds,
                "quantities": [_error_object(error) for error in campaign.errors],
                "runs": [comparison_object(comparison) for comparison in campaign.runs],
            }
            for campaign in folders.campaigns
        ],
        "policies": [sides_object(compared) for compared in policies_on_both_sides(folders)],
        "left_out": list(folders.left_out),
    }


def _error_object(error: ErrorOverSeeds) -> dict[str, Any]:
    ratio = error.ratio
    return {
        "quantity": error.name, "statistic": error.statistic, "live": error.live, "simulated": error.simulated,
        "error": None if ratio is None else ratio.value - 1,
        "error_low": None if ratio is None or ratio.low is None else ratio.low - 1,
        "error_high": None if ratio is None or ratio.high is None else ratio.high - 1,
        "largest_error_of_a_seed": error.largest, "live_spread": error.spread,
    }  # fmt: skip


def _number(quantity: Quantity | ErrorOverSeeds, value: float) -> str:
    return f"{value:.2%}" if quantity.name == UTILIZATION else f"{value:.4g} s"


def _both(live: Any, simulated: Any, column: str) -> str:
    before, after = getattr(live, column), getattr(simulated, column)
    if before is None or after is None:
        return ""
    return f"{before:.2f} {after - before:+.2f}"


def _parts(parts: Parts) -> str:
    return "+".join(f"{cluster}:{processors}" for cluster, processors in parts)
