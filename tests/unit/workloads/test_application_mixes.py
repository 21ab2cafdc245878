"""The application mixes against the tables and the exact constants of the measurement-based study."""

from __future__ import annotations

import pytest

from emulator.model.errors import UnknownName
from emulator.model.rules import Coallocation
from workloads.application_mixes import application_mix, measured_extension

SYSTEM_PROCESSORS = 128
_ = 0.0

# Percentages of 1/2/3/4 components by (mix, processors); rows are no, co, rco, fco.
PERCENTAGES: dict[tuple[str, int], tuple[tuple[float, ...], ...]] = {
    ("poisson", 8): ((33.34, _, _, _), (16.67, 16.67, _, _), (16.67, 16.67, _, _), (16.67, 16.67, _, _)),
    ("poisson", 16): (
        (33.33, _, _, _), (11.11, 11.11, _, 11.11), (11.11, 11.11, _, 11.11), (16.665, 16.665, _, _),
    ),
    ("poisson", 32): ((33.33, _, _, _), (11.11, 11.11, _, 11.11), (_, 16.665, _, 16.665), (_, 33.33, _, _)),
    ("ensflow", 12): ((25, _, _, _), (6.25,) * 4, (6.25,) * 4, (12.5, 12.5, _, _)),
    ("ensflow", 15): ((25, _, _, _), (12.5, _, 12.5, _), (12.5, _, 12.5, _), (25, _, _, _)),
    ("ensflow", 20): ((25, _, _, _), (8.34, 8.33, _, 8.33), (_, 12.5, _, 12.5), (_, 25, _, _)),
    ("ensflow", 30): ((25, _, _, _), (8.34, 8.33, 8.33, _), (_, 12.5, 12.5, _), (_, 25, _, _)),
    ("half-and-half", 8): ((16.67, _, _, _),) + ((8.335, 8.335, _, _),) * 3,
    ("half-and-half", 16): (
        (16.67, _, _, _), (5.557, 5.557, _, 5.556), (5.557, 5.557, _, 5.556), (8.335, 8.335, _, _),
    ),
    ("half-and-half", 32): ((16.66, _, _, _), (5.554, 5.553, _, 5.553), (_, 8.33, _, 8.33), (_, 16.66, _, _)),
    ("half-and-half", 12): ((12.5, _, _, _), (3.125,) * 4, (3.125,) * 4, (6.25, 6.25, _, _)),
    ("half-and-half", 15): ((12.5, _, _, _), (6.25, _, 6.25, _), (6.25, _, 6.25, _), (12.5, _, _, _)),
    ("half-and-half", 20): ((12.5, _, _, _), (4.167, 4.167, _, 4.166), (_, 6.25, _, 6.25), (_, 12.5, _, _)),
    ("half-and-half", 30): ((12.5, _, _, _), (4.167, 4.167, 4.166, _), (_, 6.25, 6.25, _), (_, 12.5, _, _)),
}  # fmt: skip

# Mix: multicomponent % under co/rco/fco; gross/net under co/rco/fco; arrivals per second at gross utilization 1 under
# no/co/rco/fco.
CONSTANTS = {
    "poisson": ((61.11, 72.22, 66.67), (1.1030, 1.1245, 1.0953), (0.0121335, 0.0110008, 0.0107897, 0.0110778)),
    "ensflow": ((64.58, 81.25, 62.50), (1.0222, 1.0319, 1.0284), (0.00301265, 0.00294710, 0.00291962, 0.00292933)),
    "half-and-half": (
        (62.85, 76.74, 64.58),
        (1.0383, 1.0503, 1.0417),
        (0.00482683, 0.00464879, 0.00459569, 0.00463343),
    ),
}


@pytest.mark.parametrize("rule", list(Coallocation))
@pytest.mark.parametrize(("mix", "processors"), list(PERCENTAGES))
def test_percentages_are_those_of_the_tables(mix: str, processors: int, rule: Coallocation) -> None:
    published = PERCENTAGES[mix, processors][list(Coallocation).index(rule)]
    found = [100 * application_mix(mix, rule).share(processors, components) for components in (1, 2, 3, 4)]
    assert found == pytest.approx(published, abs=0.011)  # the tables round so that their columns sum to 100


@pytest.mark.parametrize("mix", list(CONSTANTS))
def test_the_exact_constants(mix: str) -> None:
    shares, ratios, rates_per_s = CONSTANTS[mix]
    coallocating = [application_mix(mix, rule) for rule in (Coallocation.CO, Coallocation.RCO, Coallocation.FCO)]
    every = [application_mix(mix, Coallocation.NO), *coallocating]
    assert [100 * each.multicomponent_share for each in coallocating] == pytest.approx(shares, abs=0.0101)
    assert [each.gross_over_net(measured_extension) for each in coallocating] == pytest.approx(ratios, abs=5e-5)
    found_per_s = [each.arrival_rate_per_s(1.0, SYSTEM_PROCESSORS, measured_extension) for each in every]
    assert found_per_s == pytest.approx(rates_per_s, rel=5e-6 / 0.5)


@pytest.mark.parametrize(("mix", "mean"), [("poisson", 18.667), ("ensflow", 19.25), ("half-and-half", 18.958)])
@pytest.mark.parametrize("rule", list(Coallocation))
def test_mean_sizes_do_not_depend_on_the_rule(mix: str, mean: float, rule: Coallocation) -> None:
    classes = application_mix(mix, rule).classes
    found = sum(job_class.probability * job_class.request.processors for job_class in classes)
    assert found == pytest.approx(mean, abs=5e-4)


def test_the_largest_extension_factor_is_that_of_poisson_on_32_processors_in_four() -> None:
    factors = {
        (job_class.request.processors, len(job_class.request.components)): measured_extension(job_class)
        for job_class in application_mix("poisson", Coallocation.CO).classes
    }
    assert max(factors, key=lambda key: factors[key]) == (32, 4)
    assert factors[32, 4] == pytest.approx(1.2325, abs=5e-5)


def test_an_unknown_mix_is_named_beside_those_that_exist() -> None:
    with pytest.raises(UnknownName, match=r"'laplace' .known: poisson, ensflow, half-and-half"):
        application_mix("laplace", Coallocation.CO)
