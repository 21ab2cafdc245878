"""The tables of a study: which parts of its claims are listed as changing with the load."""

from __future__ import annotations

from emulator.reports.study_tables import turning_table
from emulator.studies.catalogue import STUDIES
from emulator.studies.claims import ClaimOutcome, DecidedClaim, Decision
from emulator.studies.simulation_study import Scale, StudyResult
from emulator.studies.statements import Claim

SHOWN, NOT_SHOWN, UNDECIDED = ClaimOutcome.SHOWN, ClaimOutcome.NOT_SHOWN, ClaimOutcome.UNDECIDED


def decided(at: str, *verdicts: ClaimOutcome) -> DecidedClaim:
    decisions = [Decision(f"part {number}", 0.9, None, None, verdict) for number, verdict in enumerate(verdicts)]
    return DecidedClaim(Claim("C1", "Fig. 1", "", ()), tuple(decisions), at)


def test_every_part_whose_verdict_is_not_the_same_at_all_loads_is_listed():
    claims = (
        decided("at 0.97", SHOWN, UNDECIDED, SHOWN, NOT_SHOWN, UNDECIDED),
        decided("at 0.85", SHOWN, SHOWN, NOT_SHOWN, UNDECIDED, UNDECIDED),
    )
    rows = turning_table(StudyResult(STUDIES["ls-variants"], Scale(), "at 0.97", (), claims))
    assert [row["part"] for row in rows] == ["part 1", "part 2", "part 3"]
    assert rows[0] == {"claim": "C1", "part": "part 1", "at 0.85": "shown (0.90)", "at 0.97": "undecided (0.90)"}
