"""The page on the results of studies counts the parts of claims that their tables hold."""

from __future__ import annotations

import csv
import re
from collections import Counter

import pytest

from emulator.model.project import PROJECT_ROOT
from emulator.studies.simulation_study import HEADLINE_SHARE, UTILIZATION_LOAD

RESULTS = PROJECT_ROOT / "docs" / "results"
PAGE = (RESULTS / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(C\d+)\]\(([\w-]+)\.md\) \| [^|]* \| ([^|]*) \| (\d+) of (\d+) \|", PAGE, re.MULTILINE)
HEADLINES = ("", f"at {HEADLINE_SHARE:g} of the tightest maximum", f"at load {UTILIZATION_LOAD:g}")
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@pytest.mark.parametrize(("claim", "study", "verdict", "shown", "parts"), ROWS, ids=[row[0] for row in ROWS])
def test_a_claim_is_counted_as_its_study_decided_it(claim, study, verdict, shown, parts):
    with (RESULTS / f"{study}-claims.csv").open(encoding="utf-8", newline="") as text:
        rows = [row for row in csv.DictReader(text) if row["claim"] == claim and row["at"] in HEADLINES]
    found = Counter(row["verdict"] for row in rows)
    assert (found["shown"], found.total()) == (int(shown), int(parts))
    assert verdict == next(each for each in ("not shown", "undecided", "shown") if found[each])


def test_the_totals_are_those_of_the_table():
    claims = Counter(verdict for _, _, verdict, _, _ in ROWS)
    shown, parts = (sum(int(row[column]) for row in ROWS) for column in (3, 4))
    assert (
        f"Of {claims.total()} claims {claims['shown']} are shown, {WORDS[claims['undecided']]} are undecided, and "
        f"{WORDS[claims['not shown']]} are not shown in all of their parts. Of {parts} parts {shown} are shown."
    ) in PAGE
