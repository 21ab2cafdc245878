"""The choice of a dilation from pilots: it is the smallest that suffices, and it is always found or given up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.conditions import Conditions
from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.pilots import (
    LARGEST_DILATION,
    SMALLEST_DILATION,
    Chosen,
    Needed,
    Pilot,
    least_dilation,
    next_pilot,
    own_time,
    strains,
)


def pilot(dilation: float, *, strain: float = 0.0, host_own_s: float = 0.0, iteration_s: float = 0.01) -> Pilot:
    """A pilot whose iteration is longer by the host's own time, as it is at that dilation."""
    return Pilot(dilation, iteration_s + host_own_s / dilation, {"lateness": strain}, passes_on=True)


def played(trials: dict[str, tuple[float, float]], floor: float) -> tuple[Chosen, dict[str, list[Pilot]]]:
    """Choose for trials with the strain at K = 1, which falls with K, and the host's own time."""
    made: dict[str, list[Pilot]] = {}
    for _ in range(100):
        step = next_pilot(list(trials), made, floor)
        if isinstance(step, Chosen):
            return step, made
        strain, host_own_s = trials[step.trial]
        assert all(known.dilation != step.dilation for known in made.get(step.trial, []))
        shown = pilot(step.dilation, strain=strain / step.dilation, host_own_s=host_own_s)
        made.setdefault(step.trial, []).append(shown)
    raise AssertionError("pilots without end")


def test_the_first_pilot_is_made_at_the_floor():
    assert next_pilot(["a"], {}, 2.0) == Needed("a", 2.0)


def test_what_suffices_at_once_is_chosen_after_one_pilot_at_four_times_the_dilation():
    step, made = played({"a": (0.1, 0.0)}, 1.0)
    assert step == Chosen(1.0)
    assert [shown.dilation for shown in made["a"]] == [1.0, 4.0]


def test_paced_messages_need_no_second_pilot():
    made = {"a": [Pilot(1.0, 0.01, {"lateness": 0.5}, passes_on=False)]}
    assert next_pilot(["a"], made, 1.0) == Chosen(1.0)


def test_all_trials_of_a_problem_end_at_the_dilation_of_the_most_demanding():
    step, made = played({"easy": (0.1, 0.0), "hard": (5.0, 0.0)}, 0.5)
    assert step == Chosen(8.0)
    assert 8.0 in {shown.dilation for shown in made["easy"]}


def test_the_host_s_own_time_needs_a_dilation_at_which_it_is_two_hundredths_of_an_iteration():
    step, made = played({"a": (0.1, 0.002)}, 0.5)
    at = {shown.dilation: shown for shown in made["a"]}
    assert own_time(at, step.dilation) <= 1.0
    # At dilation 8 the host's 2 ms are 0.25 ms of 10.25, 2.4%; at 16 they are 1.2%.
    assert step.dilation == 16.0


def test_one_noisy_pilot_does_not_hide_the_host_s_own_time():
    made = {factor: pilot(factor, host_own_s=0.004) for factor in (2.0, 4.0, 16.0)}
    noisy = replace(made[4.0], iteration_s=made[4.0].iteration_s * 0.985)
    assert own_time(made, 16.0) == pytest.approx(0.025 / 0.02)
    assert own_time(made | {4.0: noisy}, 16.0) == pytest.approx(0.025 / 0.02, rel=0.1)


def test_a_dilation_between_pilots_is_tried_if_the_host_s_own_time_allows_it():
    made = {factor: pilot(factor, host_own_s=0.001) for factor in (2.0, 16.0)}
    assert next_pilot(["a"], {"a": list(made.values())}, 2.0) == Needed("a", 8.0)


def test_the_own_time_seen_from_a_late_neighbour_is_not_believed_to_be_too_large():
    made = {1.0: pilot(1.0, strain=4.0, host_own_s=0.004), 2.0: pilot(2.0, strain=0.5, host_own_s=0.001)}
    assert own_time(made, 2.0) is None


def test_no_pilot_that_told_nothing_is_made_again():
    """A host that stays busy disturbs every pilot at a larger dilation; there is an end of them nevertheless."""
    made = [pilot(1.0, strain=0.1)]
    for factor in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0):
        assert next_pilot(["a"], {"a": made}, 1.0) == Needed("a", factor)
        made.append(pilot(factor, strain=20.0))
    assert next_pilot(["a"], {"a": made}, 1.0) == Chosen(1.0)


def test_a_huge_strain_takes_larger_steps():
    step = next_pilot(["a"], {"a": [pilot(1.0, strain=20.0)]}, 1.0)
    assert step == Needed("a", 4.0)


def test_what_never_suffices_ends_at_the_largest_dilation():
    step, _ = played({"a": (1e9, 0.0)}, 0.5)
    assert step == Chosen(LARGEST_DILATION, sufficed=False)
    assert step.how == "the largest tried, though its pilots did not suffice"


@given(
    st.dictionaries(st.sampled_from("abcd"), st.tuples(st.floats(0, 1e4), st.floats(0, 0.1)), min_size=1),
    st.floats(0.001, 1e4),
)
def test_a_dilation_is_always_found_and_suffices_or_says_that_it_does_not(trials, floor):
    step, made = played(trials, least_dilation(floor))
    assert SMALLEST_DILATION <= step.dilation <= LARGEST_DILATION
    if step.sufficed:
        for shown in made.values():
            assert {each.dilation: each for each in shown}[step.dilation].strain <= 1.0


@pytest.mark.parametrize(
    ("factor", "least"), [(0.01, 0.5), (0.5, 0.5), (0.6, 1.0), (8.0, 8.0), (9.0, 16.0), (1e6, 128)]
)
def test_dilations_are_powers_of_two_within_bounds(factor, least):
    assert least_dilation(factor) == least


def test_a_pilot_may_reach_half_of_a_verdict_s_thresholds():
    measures = JobMeasures(lateness_share=0.015, late_phase_share=0.5)
    assert strains(measures) == pytest.approx({"lateness": 1.0, "late phases": 2.0})


def test_waiting_for_processors_counts_only_where_others_leave_them_alone():
    quiet = Conditions(2.0, cpu_pressure=0.6, contending_cpu_share=0.01)
    busy = Conditions(2.0, cpu_pressure=0.6, contending_cpu_share=0.3)
    assert strains(JobMeasures(conditions=(quiet,)))["cores"] > 1.0
    assert "cores" not in strains(JobMeasures(conditions=(busy,)))
