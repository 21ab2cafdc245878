"""An attribution recovers the parts that runtimes were made of, they add up to the whole, and intervals cover both."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.fidelity.attribution import Attribution, Larger, Part, Setting, Timing, attribute
from emulator.model.errors import InvalidInput

RATIO = 2.0
times = st.floats(1e-3, 1e3)
timing = st.builds(lambda all_s, share: Timing(all_s, share * all_s), times, st.floats(0, 1))
runs = st.lists(timing, min_size=2, max_size=6)

left = st.floats(0, 0.5)


@given(st.fixed_dictionaries(dict.fromkeys(Setting, runs)), st.builds(Larger, st.floats(1.1, 8), left, left))
def test_the_parts_add_up_to_the_whole_whatever_was_measured(timings, larger):
    found = attribute(timings, larger)
    mean_s = {setting: numpy.mean([run.runtime_s for run in timings[setting]]) for setting in Setting}
    factor = mean_s[Setting.COALLOCATED] / mean_s[Setting.SINGLE]
    size = sum(abs(part.added) for part in found.parts.values()) + factor
    assert found.whole.added == pytest.approx(factor - 1, abs=1e-9 * size)
    assert sum(part.added for part in found.parts.values()) == pytest.approx(found.whole.added, abs=1e-9 * size)
    assert sum(contribution.single for contribution in found.parts.values()) == pytest.approx(1.0)
    for contribution in (*found.parts.values(), found.whole):
        assert contribution.low <= contribution.added <= contribution.high


class Multicluster:
    """A job whose runtime is a sum of known parts: what each setting would measure, without or with noise."""

    def __init__(self, **known: float) -> None:
        self.compute_s = known.get("compute_s", 3.0)
        self.inside_s = known.get("inside_s", 1.0)
        self.inside_coallocated_s = known.get("inside_coallocated_s", 1.5)
        self.latency_s = known.get("latency_s", 4.0)
        self.rate_s = known.get("rate_s", 2.0)
        self.contention_s = known.get("contention_s", 0.5)
        self.emulator_single_s = known.get("emulator_single_s", 0.1)
        self.emulator_s = known.get("emulator_s", 0.4)
        self.hidden_s = known.get("hidden_s", 0.0)
        """By how much latency and rate together cost less than each alone."""
        self.larger = Larger(RATIO, known.get("rate_left", 0.0), known.get("rate_left_larger", 0.0))

    def runtime_s(self, setting: Setting) -> float:
        larger = setting.value.endswith("larger dilation")
        if setting in (Setting.SINGLE, Setting.SINGLE_LARGER):
            return self.compute_s + self.inside_s + self.emulator_single_s / (RATIO if larger else 1)
        with_latency = setting in (Setting.COALLOCATED, Setting.LATENCY_ALONE, Setting.UNSHARED)
        as_asked = setting in (Setting.COALLOCATED, Setting.RATE_ALONE, Setting.UNSHARED)
        return (
            self.compute_s
            + self.inside_coallocated_s
            + self.emulator_s / (RATIO if larger else 1)
            + with_latency * self.latency_s
            + (1.0 if as_asked else self.larger.rate_left_larger if larger else self.larger.rate_left) * self.rate_s
            + (setting is Setting.COALLOCATED) * self.contention_s
            - (with_latency and as_asked) * self.hidden_s
        )

    def timings(self, n: int = 2, noise: float = 0.0, seed: int = 0) -> dict[Setting, list[Timing]]:
        rng = numpy.random.default_rng(seed)
        return {
            setting: [
                Timing(self.runtime_s(setting) * (1 + noise * rng.standard_normal()), self.compute_s) for _ in range(n)
            ]
            for setting in Setting
        }

    @property
    def single_s(self) -> float:
        return self.runtime_s(Setting.SINGLE)

    @property
    def parts(self) -> dict[Part, float]:
        return {
            Part.COMPUTE: 0.0,
            Part.INTERCONNECT: (self.inside_coallocated_s - self.inside_s) / self.single_s,
            Part.LATENCY: self.latency_s / self.single_s,
            Part.RATE: self.rate_s / self.single_s,
            Part.CONTENTION: self.contention_s / self.single_s,
            Part.EMULATOR: (self.emulator_s - self.emulator_single_s) / self.single_s,
        }


positive = st.floats(0.01, 20)


@given(
    st.builds(
        Multicluster,
        compute_s=positive, inside_s=positive, inside_coallocated_s=positive, latency_s=positive, rate_s=positive,
        contention_s=positive, emulator_single_s=positive, emulator_s=positive,
        rate_left=st.floats(0, 0.25), rate_left_larger=st.floats(0, 0.25),
    )
)  # fmt: skip
def test_parts_that_do_not_influence_each_other_are_recovered(known):
    found = attribute(known.timings(), known.larger)
    for part, contribution in found.parts.items():
        assert contribution.added == pytest.approx(known.parts[part], abs=1e-6), part
        assert contribution.low == pytest.approx(contribution.high, abs=1e-6)
    single = {part: contribution.single for part, contribution in found.parts.items()}
    assert single[Part.COMPUTE] == pytest.approx(known.compute_s / known.single_s)
    assert single[Part.EMULATOR] == pytest.approx(known.emulator_single_s / known.single_s, abs=1e-6)


@given(hidden_s=st.floats(0.1, 2))
def test_what_latency_and_rate_hide_of_each_other_is_shared_and_widens_their_intervals(hidden_s):
    known = Multicluster(hidden_s=hidden_s)
    found = attribute(known.timings(), known.larger).parts
    for part in (Part.LATENCY, Part.RATE):
        alone, beside = known.parts[part], known.parts[part] - hidden_s / known.single_s
        assert found[part].added == pytest.approx((alone + beside) / 2)
        assert found[part].low == pytest.approx(beside)
        assert found[part].high == pytest.approx(alone)
    assert found[Part.CONTENTION].added == pytest.approx(known.parts[Part.CONTENTION])


def test_intervals_cover_the_parts_and_the_whole_as_often_as_they_say():
    known, trials = Multicluster(), 400
    covered = dict.fromkeys([*Part, None], 0)
    for seed in range(trials):
        found = attribute(known.timings(n=4, noise=0.02, seed=seed), known.larger)
        for part, true in {**known.parts, None: sum(known.parts.values())}.items():
            contribution = found.whole if part is None else found.parts[part]
            covered[part] += contribution.low - 1e-12 <= true <= contribution.high + 1e-12
    # Of the compute phases' lengths, which do not vary here, only the denominator's spread is left.
    shares = {part: count / trials for part, count in covered.items()}
    assert all(0.92 <= share <= 1.0 for share in shares.values()), shares
    assert shares[None] <= 0.99


def test_processors_that_compute_longer_show_as_compute():
    timings = Multicluster().timings()
    timings[Setting.COALLOCATED] = [
        Timing(timing.runtime_s + 1, timing.compute_s + 1) for timing in timings[Setting.COALLOCATED]
    ]
    single_s = Multicluster().single_s
    assert attribute(timings, Larger(RATIO)).parts[Part.COMPUTE].added == pytest.approx(1 / single_s)
    assert attribute(timings, Larger(RATIO)).parts[Part.CONTENTION].added == pytest.approx(0.5 / single_s)


def test_one_run_of_each_has_parts_and_no_intervals():
    found: Attribution = attribute(Multicluster().timings(n=1), Larger(RATIO))
    assert found.parts[Part.LATENCY].added == pytest.approx(Multicluster().parts[Part.LATENCY])
    assert (found.whole.low, found.parts[Part.LATENCY].high) == (None, None)


@settings(max_examples=20)
@given(st.sampled_from(list(Setting)))
def test_a_run_that_is_missing_is_named(setting):
    timings = Multicluster().timings()
    del timings[setting]
    with pytest.raises(InvalidInput, match=setting.value):
        attribute(timings, Larger(RATIO))


@pytest.mark.parametrize(("ratio", "share", "sentence"), [(1.0, 0.0, "must be larger"), (2.0, 1.0, "above the one")])
def test_ratios_that_make_no_sense_are_refused(ratio, share, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        attribute(Multicluster().timings(), Larger(ratio, share))
