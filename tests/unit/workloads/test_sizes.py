"""Job and component sizes: D(q), the surrogate of the DAS log, and splitting by a limit on component sizes."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput
from workloads.das_log import DAS_EXTENSION_FACTOR, das_mix
from workloads.job_mix import one_extension
from workloads.sizes import (
    DAS_S_64_SURROGATE,
    DAS_S_128_SURROGATE,
    SizeDistribution,
    skewed_to_powers_of_two,
)
from workloads.splitting import as_equal_as_possible, split_by_limit


@pytest.mark.parametrize(("q", "largest"), [(0.9, 8), (0.768, 32)])
def test_the_means_quoted_for_d_of_q_hold_when_size_one_is_not_favoured(q: float, largest: int) -> None:
    assert skewed_to_powers_of_two(q, 1, largest).mean == pytest.approx(3.996, abs=5e-4)


@pytest.mark.parametrize(("q", "largest", "mean"), [(0.9, 8, 3.493), (0.768, 32, 3.338)])
def test_favouring_size_one_gives_other_means(q: float, largest: int, mean: float) -> None:
    assert skewed_to_powers_of_two(q, 1, largest, favour_size_one=True).mean == pytest.approx(mean, abs=5e-4)


def test_a_power_of_two_is_three_times_as_likely() -> None:
    shares = dict(skewed_to_powers_of_two(1.0, 1, 4).items())
    assert shares == pytest.approx({1: 1 / 8, 2: 3 / 8, 3: 1 / 8, 4: 3 / 8})


@pytest.mark.parametrize(("q", "smallest", "largest"), [(0, 1, 8), (float("nan"), 1, 8), (0.9, 0, 8), (0.9, 9, 8)])
def test_a_d_of_q_that_cannot_be_meant_is_refused(q: float, smallest: int, largest: int) -> None:
    with pytest.raises(InvalidInput, match=r"D\(q\)"):
        skewed_to_powers_of_two(q, smallest, largest)


def test_probabilities_must_sum_to_one() -> None:
    with pytest.raises(InvalidInput, match="sum to 1"):
        SizeDistribution("mine", (1, 2), (0.5, 0.4))


def test_the_surrogate_of_the_log_meets_what_is_published_of_it() -> None:
    def share(low: int, high: int) -> float:
        return sum(share for size, share in DAS_S_128_SURROGATE.items() if low <= size <= high)

    assert DAS_S_128_SURROGATE.mean == pytest.approx(23.34, abs=0.005)
    assert DAS_S_128_SURROGATE.coefficient_of_variation == pytest.approx(1.11, abs=0.005)
    assert [share(1, 16), share(17, 24), share(25, 32), share(33, 128)] == pytest.approx([0.513, 0.225, 0.042, 0.220])
    assert [share(64, 64), share(65, 128), share(128, 128)] == pytest.approx([0.19, 0.02, 0.012])


def test_the_surrogate_cut_at_64() -> None:
    assert DAS_S_64_SURROGATE.mean == pytest.approx(21.5, abs=0.05)
    assert DAS_S_64_SURROGATE.coefficient_of_variation == pytest.approx(1.05, abs=0.01)
    assert max(DAS_S_64_SURROGATE.sizes) == 64


@pytest.mark.parametrize(
    ("total", "limit", "components"),
    [
        (64, 24, (22, 21, 21)),
        (64, 16, (16, 16, 16, 16)),
        (64, 32, (32, 32)),
        (128, 16, (32, 32, 32, 32)),
        (100, 24, (25, 25, 25, 25)),
        (16, 16, (16,)),
        (17, 16, (9, 8)),
        (1, 16, (1,)),
    ],
)
def test_splitting_by_a_limit(total: int, limit: int, components: tuple[int, ...]) -> None:
    assert split_by_limit(total, limit, most_components=4) == components


def test_no_job_has_more_components_than_processors() -> None:
    with pytest.raises(InvalidInput, match="2 processors cannot make 3 components"):
        as_equal_as_possible(2, 3)


@pytest.mark.parametrize(
    ("limit", "shares"),
    [
        (16, (0.513, 0.267, 0.009, 0.211)),
        (24, (0.738, 0.051, 0.194, 0.017)),
        (32, (0.780, 0.200, 0.003, 0.017)),
    ],
)
def test_shares_by_number_of_components_under_each_limit(limit: int, shares: tuple[float, ...]) -> None:
    mix = das_mix(DAS_S_128_SURROGATE, limit)
    found = [
        sum(job_class.probability for job_class in mix.classes if len(job_class.request.components) == n)
        for n in (1, 2, 3, 4)
    ]
    assert found == pytest.approx(shares)
    assert mix.multicomponent_share == pytest.approx(1 - shares[0])


@pytest.mark.parametrize(("limit", "das_128", "das_64"), [(16, 1.218, 1.215), (24, 1.173, 1.165), (32, 1.159, 1.149)])
def test_gross_over_net_utilization_as_published(limit: int, das_128: float, das_64: float) -> None:
    extension = one_extension(DAS_EXTENSION_FACTOR)
    assert das_mix(DAS_S_128_SURROGATE, limit).gross_over_net(extension) == pytest.approx(das_128, abs=5e-4)
    assert das_mix(DAS_S_64_SURROGATE, limit).gross_over_net(extension) == pytest.approx(das_64, abs=5e-4)
