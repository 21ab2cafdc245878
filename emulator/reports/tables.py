"""Several runs side by side: the rows of a report, as plain values that the command line prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from emulator.fidelity.intervals import Estimate
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.records import RunKind
from emulator.reports.figures.figure import DataRow
from emulator.reports.policies_over_seeds import ComparedPolicies, OverSeeds
from emulator.reports.summary import TIMES, FactorEstimate, Summary
from emulator.reports.text import with_interval

POLICIES_KIND: Final = "policies-over-seeds"
"""What stands in place of the kind of a run in the object of `policies_object`."""

INDEPENDENT: Final = "jobs taken as independent"
"""What is said beside intervals over the jobs of one run, which are too narrow where jobs wait for one another."""


def run_object(summary: Summary, label: str) -> dict[str, Any]:
    """Return everything that a report says of one run, under its label, for programs."""
    manifest = summary.records.manifest
    return {
        "run": label,
        "kind": manifest.kind.value,
        "name": manifest.name,
        "topology": manifest.topology.name,
        "policy": manifest.policy,
        "queue": manifest.queue,
        "seed": manifest.seed,
        "dilation": manifest.dilation,
        "time_scale": manifest.time_scale,
        "progress": manifest.progress.value,
        "jobs": manifest.jobs,
        "finished": summary.finished,
        "failed": summary.failed,
        "cancelled": summary.cancelled,
        "wait_times": "paced" if _is_paced(summary) else "unpaced",
        **{column: _estimate_object(summary.times[column]) for column in TIMES},
        "offered_load": summary.offered_load,
        "gross_utilization": summary.utilization,
        "late_phase_share": summary.late_phase_share,
        "measured_extension_factors": [row.model_dump(mode="json") for row in summary.records.extension_factors],
        "communication": [row.model_dump(mode="json") for row in summary.records.communication],
        "attribution": [row.model_dump(mode="json") for row in summary.records.attribution],
        "invariance": [row.model_dump(mode="json") for row in summary.records.invariance],
        "defects": list(manifest.defects),
        "extension_factors": [_factor_object(factor) for factor in summary.factors],
        "verdict": manifest.verdict,
        "verdict_reasons": list(manifest.verdict_reasons),
    }


def summary_table(summaries: Sequence[Summary], labels: Sequence[str]) -> list[dict[str, str]]:
    """Return a row per quantity, a column per run under its label."""
    columns = {label: _column(summary) for label, summary in zip(labels, summaries, strict=True)}
    quantities = list(next(iter(columns.values()), {}))
    return [
        {"quantity": quantity, **{run: column[quantity] for run, column in columns.items()}} for quantity in quantities
    ]


def policies_table(compared: ComparedPolicies) -> list[dict[str, str]]:
    """Return a row per quantity and policy: the mean over seeds, and that over the mean under the first policy."""
    over_first = f"over {compared.policies[0]} [95%]"
    return [
        {
            "quantity": f"{found.name} {found.statistic}".strip(),
            "policy": found.policy,
            "mean [95%]": _shown(found.mean),
            over_first: _shown(found.ratio),
        }
        for found in compared.quantities
    ]


def policy_rows(compared: ComparedPolicies) -> list[DataRow]:
    """Return a row per quantity and policy for programs, with the ends of all intervals."""
    return [_policy_row(found, compared) for found in compared.quantities]


def _policy_row(found: OverSeeds, compared: ComparedPolicies) -> DataRow:
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
        "n": found.mean.n,
    }


def policies_object(compared: ComparedPolicies) -> dict[str, Any]:
    """Return the policies of a campaign over seeds as one object for programs, of a kind of its own among runs."""
    return {
        "kind": POLICIES_KIND,
        "name": compared.label,
        "policies": list(compared.policies),
        "seeds": list(compared.seeds),
        "drawn_by_seed": list(compared.drawn),
        "quantities": [dict(row) for row in policy_rows(compared)],
    }


def measured_factor_table(summaries: Sequence[Summary], labels: Sequence[str]) -> list[dict[str, str]]:
    """Return a row per extension factor that a measurement asked for, with the label of its run."""
    return [
        {
            "run": label,
            "job": row.application if row.grid is None else f"{row.application} {row.grid}",
            "processors": str(row.processors),
            "clusters": row.spread_over,
            "iteration (ms)": "" if row.iteration_s is None else f"{row.iteration_s * 1000:.4g}",
            "factor [95%]": _factor(row),
            "n": str(row.n),
            "verdict": row.verdict,
        }
        for summary, label in zip(summaries, labels, strict=True)
        for row in summary.records.extension_factors
    ]


def _factor(row: ExtensionFactorRow) -> str:
    factor = row.extension_factor
    return "" if factor is None else with_interval(factor, row.ci_low, row.ci_high)


def factor_table(summaries: Sequence[Summary], labels: Sequence[str]) -> list[dict[str, str]]:
    """Return a row per extension factor that the jobs of a run show, with the run's label."""
    return [
        {
            "run": label,
            "application": factor.application,
            "processors": str(factor.processors),
            "clusters": str(factor.clusters),
            "factor [95%]": _shown(factor.factor),
            "n": f"{factor.factor.n} against {factor.single_runs}",
        }
        for summary, label in zip(summaries, labels, strict=True)
        for factor in summary.factors
    ]


def _column(summary: Summary) -> dict[str, str]:
    manifest = summary.records.manifest
    is_stream = manifest.kind is not RunKind.MEASUREMENT
    return {
        "kind": manifest.kind.value,
        "topology": manifest.topology.name,
        "policy / queue": f"{manifest.policy} / {manifest.queue}",
        "seed": str(manifest.seed),
        "dilation": f"{manifest.dilation:g}",
        "time scale": f"{manifest.time_scale:g}",
        "jobs finished": f"{summary.finished} of {manifest.jobs}",
        "jobs failed, cancelled": f"{summary.failed}, {summary.cancelled}",
        "wait times": "paced" if _is_paced(summary) else "unpaced",
        **{_title(column): _shown(summary.times[column]) if is_stream else "" for column in TIMES},
        "intervals of times": INDEPENDENT if is_stream and _has_intervals(summary) else "",
        "offered load": "" if summary.offered_load is None else f"{summary.offered_load:.6g}",
        "gross utilization": _percent(summary.utilization),
        "late phases": _percent(summary.late_phase_share),
        "verdict": manifest.verdict,
        "because": "\n".join(manifest.verdict_reasons),
    }


def _has_intervals(summary: Summary) -> bool:
    return any(around is not None and around.low is not None for around in summary.times.values())


def _title(column: str) -> str:
    return f"{column.removesuffix('_s').replace('_', ' ')} (s)"


def _is_paced(summary: Summary) -> bool:
    """Return whether wait times mean the same at every dilation: middleware is stated, and the run paced it."""
    manifest = summary.records.manifest
    return manifest.paced_middleware and manifest.topology.middleware is not None


def _shown(estimate: Estimate | None) -> str:
    return "" if estimate is None else with_interval(estimate.value, estimate.low, estimate.high)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _estimate_object(estimate: Estimate | None) -> dict[str, float | int | None] | None:
    if estimate is None:
        return None
    return {"mean": estimate.value, "ci_low": estimate.low, "ci_high": estimate.high, "n": estimate.n}


def _factor_object(factor: FactorEstimate) -> dict[str, Any]:
    return {
        "application": factor.application,
        "arguments": factor.arguments,
        "processors": factor.processors,
        "clusters": factor.clusters,
        "extension_factor": factor.factor.value,
        "ci_low": factor.factor.low,
        "ci_high": factor.factor.high,
        "n": factor.factor.n,
        "n_single": factor.single_runs,
    }
