"""A shared processor: schedules worked by hand, and what holds for all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.time_sharing.processor import NOBODY, SharedProcessor
from emulator.model.time_sharing.rates import mean_rates
from emulator.model.time_sharing.rules import RULES, SharingRule, SocialContract, rule_named
from tests.unit.model.played import LOCAL, Script, play

A, B, C = 1, 2, 3


def computing(*processor_s: float, **options) -> Script:
    return Script([("compute", each) for each in processor_s], **options)


@pytest.mark.parametrize("rule", list(RULES))
def test_a_task_alone_has_the_whole_processor(rule):
    played = play({A: Script([("compute", 1.0), ("sleep", 0.25), ("compute", 0.5), ("message", 2.0)])}, rule)
    assert played.held(A)[0] == (0.0, 1.0)
    assert played.held(A)[1][0] == 1.25
    assert played.ends_s == {A: 2.0}


def test_two_tasks_take_turns_of_a_quantum():
    """0.12 s each, quantum 0.06: A, B, an epoch, A, B."""
    played = play({A: computing(0.12), B: computing(0.12)})
    assert played.held(A) == [(0.0, 0.06), (0.12, 0.18)]
    assert played.held(B) == [(0.06, 0.12), (0.18, 0.24)]
    assert played.ends_s == pytest.approx({A: 0.18, B: 0.24})


def test_a_task_that_slept_comes_before_one_that_did_not():
    """Alone, A begins epochs at 0.06 and 0.12. B's counter grows to 0.09 and 0.105; A has 0.03 left when B wakes."""
    played = play({A: computing(1.0), B: Script([("sleep", 0.15), ("compute", 0.03)])})
    assert played.held(B) == [(0.15, 0.18)]
    assert played.ends_s == pytest.approx({A: 1.03, B: 0.18})


def test_without_waking_first_a_task_that_slept_waits_for_the_end_of_the_quantum():
    played = play({A: computing(1.0), B: Script([("sleep", 0.15), ("compute", 0.03)])}, "quantum")
    assert played.held(B) == [(0.18, 0.21)]


def three(rule: str):
    """B computes for 0.05 s and waits for a message at 0.13; A has used its quantum up by then, C runs until 0.17."""
    waits = Script([("compute", 0.05), ("message", 0.13), ("compute", 0.005)])
    return play({A: computing(0.2), B: waits, C: computing(0.2)}, rule)


def test_under_linux_a_receiver_waits_for_a_larger_counter():
    """B has 0.01 s left of its quantum, C 0.04: B is next when C has used its own up."""
    assert three("linux").held(B) == [(0.06, 0.11), (0.17, 0.175)]


@pytest.mark.parametrize("rule", ["dcs", "ccs"])
def test_a_message_puts_its_receiver_first(rule):
    assert three(rule).held(B) == [(0.06, 0.11), (0.13, 0.135)]
    assert three(rule).held(C)[:2] == [(0.11, 0.13), (0.135, 0.175)]


def test_a_boost_does_not_outlast_the_quantum():
    """After its message B wants 0.03 s, but has 0.01 s left: it goes on in the next epoch."""
    waits = Script([("compute", 0.05), ("message", 0.13), ("compute", 0.03)])
    played = play({A: computing(0.2), B: waits, C: computing(0.2)}, "dcs")
    assert played.held(B)[:2] == [(0.06, 0.11), (0.13, 0.14)]
    assert played.held(C)[:2] == [(0.11, 0.13), (0.14, 0.18)]


def test_a_boost_ends_with_the_quantum_also_if_a_wish_ends_at_that_moment():
    """Quantum 4/64. B runs until A's message at 1/64, A until 5/64, B until 8/64, and A in the next epoch.

    At 9/64 A has 3/64 left, and C, which slept through the epoch, has 6/64.
    """
    rule = SharingRule("dcs", quantum_s=4 / 64, boosts_receivers=True)
    receiving = Script([("message", 1 / 64), ("compute", 4 / 64), ("compute", 4 / 64)])
    played = play({A: receiving, B: computing(1.0), C: computing(1 / 64, from_s=9 / 64)}, rule)
    assert played.held(A)[:2] == [(1 / 64, 5 / 64), (8 / 64, 9 / 64)]
    assert played.held(C) == [(9 / 64, 10 / 64)]


def test_a_receiver_that_polls_goes_on_when_its_message_arrives_in_time():
    waits = Script([("compute", 0.01), ("message", 0.013), ("compute", 0.02)])
    played = play({A: waits, B: computing(0.1)}, "spinning")
    assert played.held(A) == [(0.0, 0.033)]


def test_a_receiver_blocks_after_it_has_polled_long_enough():
    """It polls from 0.01 to 0.015. At 0.03 both have 0.045 s of their quanta left, so B keeps the processor."""
    waits = Script([("compute", 0.01), ("message", 0.03), ("compute", 0.02)])
    played = play({A: waits, B: computing(0.2)}, "spinning")
    assert played.held(A) == [(0.0, 0.015), (0.075, 0.095)]


@pytest.mark.parametrize(
    ("share", "local", "end_s"),
    [
        (0.5, [(1.0, 1.06), (1.12, 1.18), (1.24, 1.27)], 1.27),
        (0.25, [(1.0, 1.06), (1.08, 1.14), (1.16, 1.19)], 1.19),
        (0.0, [(1.0, 1.15)], 1.15),
    ],
)
def test_parallel_work_has_its_share_beside_local_work(share, local, end_s):
    """The local task wants 0.15 s from 1.0 on; each of its turns of 0.06 s earns the parallel one its share."""
    played = play({A: computing(3.0), B: computing(0.15, local=LOCAL, from_s=1.0)}, "ccs", share)
    assert played.held(B) == local
    assert played.ends_s[B] == pytest.approx(end_s)
    assert played.ends_s[A] == pytest.approx(3.15)


def test_a_message_takes_nothing_from_a_local_task():
    """Parallel A waits for a message at 1.03, in the middle of the local task's turn, which goes on until 1.06."""
    waits = Script([("message", 1.03), ("compute", 0.01)])
    played = play({A: waits, B: computing(0.15, local=LOCAL, from_s=1.0)}, "ccs")
    assert played.held(A) == [(1.06, 1.07)]
    assert played.held(B) == [(1.0, 1.06), (1.07, 1.16)]
    boosted = play({A: waits, B: computing(0.15, local=LOCAL, from_s=1.0)}, "dcs")
    assert boosted.held(A) == [(1.03, 1.04)]


def test_a_smaller_weight_means_smaller_quanta():
    played = play({A: computing(10.0), B: computing(10.0, weight=0.5)}, until_s=3.0)
    had = {task: sum(end - begin for begin, end in played.held(task)) for task in (A, B)}
    assert had[A] / had[B] == pytest.approx(2.0, rel=0.02)


def wishes(local: bool):
    durations = st.floats(0.0, 0.4)
    kinds = ["compute", "sleep"] if local else ["compute", "sleep", "message"]
    one = st.tuples(st.sampled_from(kinds), durations)
    return st.builds(
        Script, st.lists(one, min_size=1, max_size=8), st.just(local), st.floats(0.0, 0.5), st.sampled_from([1.0, 0.5])
    )


mixed = st.lists(st.booleans().flatmap(wishes), min_size=1, max_size=5).map(lambda each: dict(enumerate(each)))


def wanted_s(script: Script) -> float:
    return math.fsum(value for kind, value in script.wishes if kind == "compute")


@given(mixed, st.sampled_from(sorted(RULES)), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_nobody_waits_for_an_idle_processor_and_everyone_gets_what_was_wanted(scripts, rule, share):
    played = play(scripts, rule, share)
    for (begin, end, holder), (_, _, wanting) in zip(played.segments, played.wanting, strict=True):
        if end - begin > 1e-12:
            assert holder != NOBODY or not wanting
            assert holder == NOBODY or holder in wanting or rule == "spinning"
    for task, script in scripts.items():
        held = [
            (end - begin, task in wanting)
            for (begin, end, holder), (_, _, wanting) in zip(played.segments, played.wanting, strict=True)
            if holder == task
        ]
        assert math.fsum(held_s for held_s, _ in held) == pytest.approx(played.processor.given_s(task), abs=1e-9)
        computing_s = math.fsum(held_s for held_s, wants in held if wants)
        assert computing_s == pytest.approx(wanted_s(script), abs=1e-9)
    assert set(played.ends_s) == set(scripts)


@given(mixed, st.sampled_from([0.0, 0.3, 0.5]))
def test_the_contract_is_kept_at_every_timestamp(scripts, share):
    played = play(scripts, "ccs", share)
    since_s, had_s, present = 0.0, 0.0, False
    for (begin, end, holder), (_, _, wanting) in zip(played.segments, played.wanting, strict=True):
        is_present = any(scripts[task].local for task in wanting)
        if is_present and not present:
            since_s, had_s = begin, 0.0
        present = is_present
        if present and holder != NOBODY and not scripts[holder].local:
            had_s += end - begin
            assert had_s <= share * (end - since_s) + 1e-9


@given(wishes(local=False), st.sampled_from(sorted(RULES)))
def test_a_single_task_is_never_held_up(script, rule):
    played = play({A: script}, rule)
    now = script.from_s
    for kind, value in script.wishes:
        now = max(now, value) if kind == "message" else now + value
    assert played.ends_s[A] == pytest.approx(now, abs=1e-9)


@given(mixed, st.sampled_from(sorted(RULES)))
def test_a_schedule_depends_on_nothing_else(scripts, rule):
    assert play(scripts, rule).segments == play(scripts, rule).segments


def test_wishes_that_make_no_sense_are_refused():
    processor = SharedProcessor(RULES["linux"], SocialContract())
    processor.add(A)
    with pytest.raises(InvalidInput, match="Task 1 is on this processor already"):
        processor.add(A)
    with pytest.raises(InvalidInput, match="Task 7 is not on this processor"):
        processor.compute(7, 1.0)
    with pytest.raises(InvalidInput, match="processor_s"):
        processor.compute(A, math.nan)
    with pytest.raises(InvalidInput, match="weight"):
        processor.set_weight(A, 0.0)
    processor.compute(A, 1.0)
    with pytest.raises(InvalidInput, match="wants the processor already"):
        processor.compute(A, 1.0)
    with pytest.raises(InvalidInput, match=r"next event is at 1\.0"):
        processor.advance(1.5)
    processor.remove(A)
    assert (processor.tasks(), processor.next_s()) == ([], math.inf)


def test_rules_and_contracts_out_of_range_are_one_sentence():
    with pytest.raises(InvalidInput, match="from 0 to 100% of a node, not 140%"):
        SocialContract(1.4)
    with pytest.raises(InvalidInput, match="not nan%"):
        SocialContract(math.nan)
    with pytest.raises(InvalidInput, match="quantum_s"):
        SharingRule("own", quantum_s=0.0)
    with pytest.raises(InvalidInput, match="spin_s"):
        SharingRule("own", spin_s=-1.0)
    with pytest.raises(UnknownName, match=r"time-sharing rule 'css'.*did you mean 'dcs' or 'ccs'"):
        rule_named("css")
    assert rule_named("CCS").balances_jobs


def test_mean_rates_where_they_are_known():
    assert mean_rates([0.7]) == (1.0,)
    assert mean_rates([1.0, 1.0, 1.0]) == pytest.approx((1 / 3,) * 3)
    assert mean_rates([1.0], local_share=1.0) == pytest.approx((0.5,))
    assert mean_rates([]) == ()
    slow, _ = mean_rates([1.0, 0.2])
    assert 0.75 < slow < 1, "a task that computes little takes little from another"


@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=6), st.floats(0.0, 0.9))
def test_mean_rates_share_one_processor(shares, local_share):
    rates = mean_rates(shares, local_share)
    assert all(0 < rate <= 1 for rate in rates)
    assert sum(share * rate for share, rate in zip(shares, rates, strict=True)) <= 1 + 1e-6
