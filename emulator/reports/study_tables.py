"""What a study found, as rows: quantities with their intervals, claims with their verdicts, and orderings that turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.simulator.estimates import Interval
from emulator.simulator.studies.comparisons import Decision, Verdict
from emulator.simulator.studies.conduct import DecidedClaim, StudyResult


def found_table(result: StudyResult) -> list[dict[str, Any]]:
    """A row per workload, queue and load: every quantity with the ends of its 95% interval."""
    rows: list[dict[str, Any]] = []
    quantities = list(dict.fromkeys(quantity for row in result.rows for quantity in row.found))
    for row in result.rows:
        cells: dict[str, Any] = {"workload": row.workload, "queue": row.queue, "at": row.at, "load": row.load}
        for quantity in quantities:
            around = row.found.get(quantity)
            cells[quantity.value] = None if around is None else _rounded(around.mean)
            cells[f"{quantity.value}_low"] = None if around is None else _rounded(around.low)
            cells[f"{quantity.value}_high"] = None if around is None else _rounded(around.high)
        rows.append({**cells, "saturated_share": row.saturated})
    return rows


def claim_table(result: StudyResult) -> list[dict[str, Any]]:
    """A row per claim: the verdict at the headline load, how many parts show, and the verdicts at other loads."""
    rows: list[dict[str, Any]] = []
    for decided in result.verdicts:
        others = [it for it in result.claims if it.claim.id == decided.claim.id and it.at != result.headline]
        rows.append(
            {
                "claim": decided.claim.id,
                "figure": decided.claim.figure,
                "says": decided.claim.statement,
                "verdict": decided.verdict.value,
                "parts shown": _counted(decided),
                **{it.at: f"{it.verdict.value} ({_counted(it)})" for it in others},
            }
        )
    return rows


def part_table(result: StudyResult) -> list[dict[str, Any]]:
    """A row per part of a claim and load: the ratio, its interval, and the verdict."""
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
    """A row per part that shows at one load and does not at another: where orderings vanish or flip."""
    rows: list[dict[str, Any]] = []
    by_claim: dict[str, list[DecidedClaim]] = {}
    for decided in result.claims:
        by_claim.setdefault(decided.claim.id, []).append(decided)
    for name, at_loads in by_claim.items():
        ordered = sorted(at_loads, key=lambda it: it.at)
        for parts in zip(*(it.decisions for it in ordered), strict=True):
            if _turns(parts):
                verdicts = {
                    it.at: f"{part.verdict} ({part.value:.2f})" for it, part in zip(ordered, parts, strict=True)
                }
                rows.append({"claim": name, "part": parts[0].says, **verdicts})
    return rows


def interval_text(around: Interval | None) -> str:
    """A mean with its interval, for people."""
    if around is None:
        return ""
    if around.low is None or around.high is None:
        return f"{around.mean:.4g}"
    return f"{around.mean:.4g} ± {(around.high - around.low) / 2:.2g}"


def _turns(parts: Sequence[Decision]) -> bool:
    verdicts = {part.verdict for part in parts}
    return Verdict.NOT_SHOWN in verdicts and len(verdicts) > 1


def _counted(decided: DecidedClaim) -> str:
    shown = sum(decision.verdict is Verdict.SHOWN for decision in decided.decisions)
    return f"{shown} of {len(decided.decisions)}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
