"""Decided claims as tables for people and as objects for programs, whatever decided them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from emulator.reports.text import with_interval
from emulator.studies.claims import DecidedClaim, Decision

OF_ONE_RUN: Final = "with one run of a case, batches of its jobs are taken as independent"
"""What is said beside the parts of claims that recorded runs decide."""


def claim_table(claims: Sequence[DecidedClaim]) -> list[dict[str, str]]:
    """Return a row for each claim: its statement, and how many of its parts show."""
    return [
        {
            "claim": decided.claim.id,
            **({"by": decided.at} if decided.at else {}),
            "says": decided.claim.statement,
            "verdict": decided.verdict.value,
            "parts shown": decided.shown_parts,
        }
        for decided in claims
    ]


def part_table(claims: Sequence[DecidedClaim]) -> list[dict[str, str]]:
    """Return a row for each part of each claim, with the value that decided it."""
    return [
        {
            "claim": decided.claim.id,
            **({"by": decided.at} if decided.at else {}),
            "part": decision.says,
            "value [95%]": _value(decision),
            "verdict": decision.verdict.value,
        }
        for decided in claims
        for decision in decided.decisions
    ]


def claim_objects(claims: Sequence[DecidedClaim]) -> list[dict[str, Any]]:
    """Return claims with all their parts, for programs."""
    return [
        {
            "claim": decided.claim.id,
            "source": decided.claim.source,
            "says": decided.claim.statement,
            "at": decided.at,
            "verdict": decided.verdict.value,
            "parts": [asdict(decision) for decision in decided.decisions],
        }
        for decided in claims
    ]


def _value(decision: Decision) -> str:
    return "" if decision.value is None else with_interval(decision.value, decision.low, decision.high, ".3g")
