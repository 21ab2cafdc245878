"""The results of a study as rows: quantities with intervals, claims with verdicts, and orderings that turn."""

from __future__ import annotations

from typing import Any

from emulator.fidelity.intervals import Estimate
from emulator.studies.claims import DecidedClaim
from emulator.studies.simulation_study import StudyResult


def found_table(result: StudyResult) -> list[dict[str, Any]]:
    """Return a row per workload, queue and load: every quantity with the ends of its 95% interval."""
    rows: list[dict[str, Any]] = []
    quantities = list(dict.fromkeys(quantity for row in result.rows for quantity in row.found))
    for row in result.rows:
        cells: dict[str, Any] = {"workload": row.workload, "queue": row.queue, "at": row.at, "load": row.load}
        for quantity in quantities:
            around = row.found.get(quantity)
            cells[quantity.value] = None if around is None else _rounded(around.value)
            cells[f"{quantity.value}_low"] = None if around is None else _rounded(around.low)
            cells[f"{quantity.value}_high"] = None if around is None else _rounded(around.high)
        rows.append({**cells, "saturated_share": row.saturated})
    return rows


def study_claim_table(result: StudyResult) -> list[dict[str, Any]]:
    """Return a row per claim: verdict at the headline load, number of parts that show, verdicts at other loads."""
    rows: list[dict[str, Any]] = []
    for decided in result.verdicts:
        others = [
            other for other in result.claims if other.claim.id == decided.claim.id and other.at != result.headline
        ]
        rows.append(
            {
                "claim": decided.claim.id,
                "figure": decided.claim.source,
                "says": decided.claim.statement,
                "verdict": decided.verdict.value,
                "parts shown": decided.shown_parts,
                **{other.at: f"{other.verdict.value} ({other.shown_parts})" for other in others},
            }
        )
    return rows


def study_part_table(result: StudyResult) -> list[dict[str, Any]]:
    """Return a row per part of a claim and load: the ratio, its interval, and the verdict."""
    return [
        {
            "claim": decided.claim.id,
            "at": decided.at,
            "part": decision.says,
            "value": _rounded(decision.value),
            "low": _rounded(decision.low),
            "high": _rounded(decision.high),
            "verdict": decision.verdict.value,
        }
        for decided in result.claims
        for decision in decided.decisions
    ]


def turning_table(result: StudyResult) -> list[dict[str, Any]]:
    """Return a row per part whose verdict is not the same at all loads: where orderings vanish or flip."""
    rows: list[dict[str, Any]] = []
    by_claim: dict[str, list[DecidedClaim]] = {}
    for decided in result.claims:
        by_claim.setdefault(decided.claim.id, []).append(decided)
    for name, at_loads in by_claim.items():
        ordered = sorted(at_loads, key=lambda decided: decided.at)
        for parts in zip(*(decided.decisions for decided in ordered), strict=True):
            if len({part.verdict for part in parts}) > 1:
                verdicts = {
                    decided.at: str(part.verdict) if part.value is None else f"{part.verdict} ({part.value:.2f})"
                    for decided, part in zip(ordered, parts, strict=True)
                }
                rows.append({"claim": name, "part": parts[0].says, **verdicts})
    return rows


def interval_text(around: Estimate | None) -> str:
    """Return a mean with its interval, for people."""
    if around is None:
        return ""
    if around.low is None or around.high is None:
        return f"{around.value:.4g}"
    return f"{around.value:.4g} ± {(around.high - around.low) / 2:.2g}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
