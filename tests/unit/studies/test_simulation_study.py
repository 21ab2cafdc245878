"""The published studies: every claim is decidable from what its study simulates, and loads mean what they say."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput, UnknownName
from emulator.simulator.study_streams import study_workload
from emulator.studies.cases import SEARCH_EXCESS, ResponseCase, SaturationCase
from emulator.studies.catalogue import STUDIES, claims_about, study_named
from emulator.studies.claims import ClaimOutcome, decide_part
from emulator.studies.simulation_study import Scale
from emulator.studies.statements import MUCH_UTILIZATION, RatioPart, ValuePart


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_claim_is_about_what_its_study_simulates(name: str) -> None:
    needed = {
        (case.workload, case.queue)
        for claim in claims_about(name)
        for part in claim.parts
        if isinstance(part, RatioPart)
        for case in part.cases
    }
    assert needed <= set(STUDIES[name].cells)


def test_each_of_the_published_claims_belongs_to_one_study() -> None:
    found = [claim.id for name in STUDIES for claim in claims_about(name)]
    expected = [*range(1, 25), *range(41, 48)]
    assert sorted(found, key=lambda name: int(name[1:])) == [f"C{number}" for number in expected]


def test_the_constants_that_need_no_simulation_hold() -> None:
    parts = [part for claim in claims_about("gross-and-net") for part in claim.parts]
    constants = [part for part in parts if isinstance(part, ValuePart)]
    assert len(constants) == 7
    assert {decide_part(part).verdict for part in constants} == {ClaimOutcome.SHOWN}


def test_much_and_far_are_a_twentieth_of_maximal_utilization() -> None:
    claims = {claim.id: claim for name in ("component-limits", "application-mixes") for claim in claims_about(name)}

    def bounds(claim: str, less: str, more: str) -> set[float]:
        """Return the bounds of the parts that compare a case that ends in `less` with one that ends in `more`."""
        return {
            part.range.high
            for part in claims[claim].parts
            if isinstance(part, RatioPart)
            for above, below in [(part.ratio.above[0], part.ratio.below[0])]
            if f"{above.workload} {above.queue}".endswith(less) and f"{below.workload} {below.queue}".endswith(more)
        }

    much = {MUCH_UTILIZATION}
    assert bounds("C17", "das-128-32 ls-do", "das-128-16 ls-do") == much
    assert bounds("C23", "-rco lp-gf", "-rco ls-do") == much
    for queue in ("ls-do", "lp-gf"):
        for worse in ("no", "co"):
            for better in ("rco", "fco"):
                assert bounds("C22", f"-{worse} {queue}", f"-{better} {queue}") == much


def test_only_the_claim_about_the_size_of_maxima_allows_for_what_the_search_adds_to_them() -> None:
    """Everything else about maxima is a ratio of two of them."""
    claims = [claim for name in STUDIES for claim in claims_about(name)]
    parts = [(claim.id, part) for claim in claims for part in claim.parts if isinstance(part, RatioPart)]
    assert {name for name, part in parts if part.most_excess > 1} == {"C16"}
    about_it = [part for name, part in parts if name == "C16"]
    assert {(part.least_excess, part.most_excess) for part in about_it} == {SEARCH_EXCESS}
    assert all(part.says.endswith("< 0.65 (found 1% to 2% too large)") for part in about_it)


@pytest.mark.parametrize("load", [0.3, 0.5])
@pytest.mark.parametrize(
    ("workload", "queue"), [("50-0-0-50", "ls-do"), ("das-128-16", "gs"), ("poisson-rco", "lp-gf")]
)
def test_a_load_is_the_gross_utilization_that_the_simulation_measures(workload: str, queue: str, load: float) -> None:
    outcome = ResponseCase(workload, queue, load, jobs=20_000, seed=1).run()
    assert outcome["gross_utilization"] == pytest.approx(load, rel=0.10)  # three deviations of the log's work
    assert outcome["gross_over_net"] == pytest.approx(study_workload(workload).gross_over_net(queue), rel=0.01)
    assert not outcome["saturated"]


@pytest.mark.parametrize(("workload", "queue", "load"), [("25-25-25-25", "gp", 0.952), ("0-0-0-100", "ls-or", 0.979)])
def test_a_load_is_too_much_also_for_a_discipline_that_lets_only_some_queues_starve(
    workload: str, queue: str, load: float
) -> None:
    """After the last arrival the queue that starved is served alone, so that responses hardly grow."""
    assert ResponseCase(workload, queue, load, jobs=50_000, seed=0).run()["saturated"]


def test_only_multicomponent_jobs_make_all_global_disciplines_one() -> None:
    found = {queue: SaturationCase("0-0-0-100", queue, jobs=4000, seed=1).run() for queue in ("gs", "gp", "lp-gf")}
    assert found["gs"] == found["gp"] == found["lp-gf"]
    assert 0.5 < found["gs"]["maximal_gross"] < 1.0


def test_only_single_component_jobs_make_all_local_disciplines_one() -> None:
    found = {
        queue: ResponseCase("100-0-0-0", queue, 0.7, jobs=4000, seed=1).run() for queue in ("ls-do", "lp-lf", "gp")
    }
    assert found["ls-do"] == found["lp-lf"] == found["gp"]


def test_a_case_depends_on_nothing_but_itself() -> None:
    case = ResponseCase("80-0-0-20-unbalanced", "lp-rd", 0.6, jobs=3000, seed=5)
    assert case.run() == case.run()
    assert case.run() != ResponseCase("80-0-0-20-unbalanced", "lp-rd", 0.6, jobs=3000, seed=6).run()


def test_unknown_names_and_scales_too_small_are_refused() -> None:
    with pytest.raises(UnknownName, match="'fig-2'"):
        study_named("fig-2")
    with pytest.raises(UnknownName, match="'100'"):
        study_workload("100")
    with pytest.raises(InvalidInput, match="--jobs"):
        Scale(jobs=10)
    with pytest.raises(InvalidInput, match="--replications"):
        Scale(replications=1)
