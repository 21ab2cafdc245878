"""The published claims C1 to C24 by the study that decides them."""

from __future__ import annotations

from emulator.simulator.studies.claims_measured import (
    application_claims,
    gross_and_net_claims,
    limit_claims,
    total_limit_claims,
)
from emulator.simulator.studies.claims_synthetic import composition_claims, lp_claims, ls_claims
from emulator.simulator.studies.statements import Claim


def claims_about(study: str) -> tuple[Claim, ...]:
    """The claims that the study of that name decides; none if it decides none."""
    makers = {
        "ls-variants": ls_claims,
        "lp-variants": lp_claims,
        "compositions": composition_claims,
        "component-limits": limit_claims,
        "total-limit": total_limit_claims,
        "gross-and-net": gross_and_net_claims,
        "application-mixes": application_claims,
    }
    return tuple(makers[study]()) if study in makers else ()
