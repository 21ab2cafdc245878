"""The policies of a campaign, live and simulated, as a table for people and as rows for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emulator.fidelity.intervals import Estimate
from emulator.reports.figures.figure import Cell, DataRow
from emulator.reports.policies_live_and_simulated import PoliciesOnBothSides, PolicyOnBothSides
from emulator.reports.text import with_interval

_TOLD: Final[Mapping[bool | None, str]] = {None: "undecided", True: "yes", False: "no"}


def sides_title(compared: PoliciesOnBothSides) -> str:
    """Return the title of the table."""
    return f"Policies of {compared.label}, live and simulated, over the seeds {_listed(compared.seeds)}"


def sides_table(compared: PoliciesOnBothSides) -> list[dict[str, str]]:
    """Return a row per quantity and policy: live and simulated means, their ratios to the first policy, agreement."""
    first = compared.policies[0]
    return [
        {
            "quantity": _quantity(found),
            "policy": found.policy,
            "live [95%]": _shown(found.live),
            "simulated [95%]": _shown(found.simulated),
            f"over {first}, live": _shown(found.live_ratio),
            f"over {first}, simulated": _shown(found.simulated_ratio),
            "simulated ratio over live": _shown(found.agreement),
            "same order": "" if found.agreement is None else _TOLD[found.same_order],
        }
        for found in compared.quantities
    ]


def sides_in_words(compared: PoliciesOnBothSides) -> str:
    """Return which ratios the table shows and which seeds it lacks, or why there is no table."""
    left_out = _listed(compared.left_out)
    if not compared.seeds:
        return (
            f"Policies of {compared.label} ({', '.join(compared.policies)}): no seed has a live run and a simulation "
            f"that count under every policy (seeds with some: {left_out})."
        )
    without = f" Left out, because not every policy has both: seeds {left_out}." if left_out else ""
    return (
        "A ratio is the mean of the ratios of the single seeds. Times are those of the jobs that finished under every "
        f"policy, live and simulated.{without}"
    )


def side_rows(compared: PoliciesOnBothSides) -> list[DataRow]:
    """Return a row per quantity and policy with every number of the table, the number of seeds, and of cases (`n`)."""
    return [
        {
            "campaign": compared.label,
            "policy": found.policy,
            "first_policy": compared.policies[0],
            "quantity": _quantity(found),
            **_cells("live", found.live),
            **_cells("simulated", found.simulated),
            **_cells("live_ratio", found.live_ratio),
            **_cells("simulated_ratio", found.simulated_ratio),
            **_cells("simulated_over_live_ratio", found.agreement),
            "same_order": found.same_order,
            "seeds": len(compared.seeds),
            "n": found.live.n,
        }
        for found in compared.quantities
    ]


def sides_object(compared: PoliciesOnBothSides) -> dict[str, Any]:
    """Return all of it as one object for programs."""
    return {
        "campaign": compared.label,
        "policies": list(compared.policies),
        "seeds": list(compared.seeds),
        "seeds_left_out": list(compared.left_out),
        "drawn_by_seed": list(compared.drawn),
        "quantities": [dict(row) for row in side_rows(compared)],
    }


def _quantity(found: PolicyOnBothSides) -> str:
    return f"{found.name} {found.statistic}".strip()


def _cells(name: str, estimate: Estimate | None) -> dict[str, Cell]:
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _shown(estimate: Estimate | None) -> str:
    return "" if estimate is None else with_interval(estimate.value, estimate.low, estimate.high)


def _listed(seeds: tuple[int, ...]) -> str:
    return ", ".join(map(str, seeds))
