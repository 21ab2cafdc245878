"""The arbiter of a shared processor: real tasks that ask in time get just what the rule gives them."""

from __future__ import annotations

import math
import random
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput
from emulator.model.time_sharing.arbiter import Arbiter
from emulator.model.time_sharing.local_work import LocalWork
from emulator.model.time_sharing.processor import SharedProcessor
from emulator.model.time_sharing.rules import RULES, SocialContract
from tests.unit.model.played import Script, play

A, B = 1, 2
USER = 9
PATIENCE_S = 0.001


def arbiter_of(*tasks: int, rule: str = "linux") -> Arbiter:
    arbiter = Arbiter(SharedProcessor(RULES[rule], SocialContract()), PATIENCE_S)
    for task in tasks:
        arbiter.add(task)
    return arbiter


class Asking:
    """Tasks with scripts that ask an arbiter, each `delay_s` after it was told that it had what it wanted."""

    def __init__(self, scripts: dict[int, Script], rule: str, delay_s: float) -> None:
        self.arbiter, self.scripts, self.delay_s = arbiter_of(*scripts, rule=rule), scripts, delay_s
        self.at = dict.fromkeys(scripts, 0)
        self.sending: list[tuple[float, int, float, float]] = []
        self.ends_s: dict[int, float] = {}
        for task in scripts:
            self.ask_next(task, 0.0, -delay_s)

    def ask_next(self, task: int, now_s: float, told_s: float) -> None:
        wishes, from_s = self.scripts[task].wishes, now_s
        while self.at[task] < len(wishes):
            kind, value = wishes[self.at[task]]
            self.at[task] += 1
            if kind == "compute":
                heappush(self.sending, (told_s + self.delay_s, task, from_s, value))
                return
            from_s = max(from_s, value)
        self.ends_s[task] = now_s
        if now_s > 0.0:
            assert self.arbiter.remove(task, told_s) == []

    def run(self) -> dict[int, float]:
        while len(self.ends_s) < len(self.scripts):
            host_s = min(self.arbiter.next_s(), self.sending[0][0] if self.sending else math.inf)
            assert host_s < math.inf
            while self.sending and self.sending[0][0] <= host_s:
                _, *request = heappop(self.sending)
                self.arbiter.request(*request)
            for grant in self.arbiter.advance(host_s):
                assert grant.late_s == 0.0
                self.ask_next(grant.task, grant.end_s, host_s)
        return self.ends_s


@st.composite
def scripts(draw) -> dict[int, Script]:
    """Draw scripts that wait for a message first; no message comes just when something else ends."""
    made = {}
    for task in range(draw(st.integers(1, 4))):
        wishes = [("message", 1e-4 * (task + 1))]
        for index in range(draw(st.integers(1, 6))):
            if index > 0 and draw(st.booleans()):
                wishes.append(("message", draw(st.integers(0, 40)) / 64 + 0.000137 * (8 * task + index + 1)))
            wishes.append(("compute", draw(st.integers(1, 20)) / 64))
        made[task] = Script(wishes)
    return made


@given(scripts(), st.sampled_from(sorted(RULES)), st.sampled_from([0.0, 0.5 * PATIENCE_S]))
def test_tasks_that_ask_within_the_patience_end_when_the_rule_says(asked, rule, delay_s):
    assert Asking(asked, rule, delay_s).run() == pytest.approx(play(asked, rule).ends_s, abs=1e-9)


def test_a_request_that_comes_after_its_timestamp_counts_from_there_if_nothing_happened_since():
    arbiter = arbiter_of(A)
    assert arbiter.advance(5.0) == []
    arbiter.request(A, 4.0, 2.0)
    (grant,) = arbiter.advance(6.5)
    assert (grant.task, grant.end_s, grant.late_s) == (A, 6.0, 0.0)


def test_a_request_is_late_if_the_processor_has_been_given_to_others_since_its_timestamp():
    """A had the processor until 0.2. B says at 0.3 that it has wanted it since 0.15: that counts from 0.2 on."""
    arbiter = arbiter_of(A, B)
    arbiter.request(A, 0.0, 0.2)
    (first,) = arbiter.advance(0.3)
    assert first.end_s == pytest.approx(0.2)
    arbiter.request(B, 0.15, 0.1)
    assert arbiter.advance(0.3005) == [], "A may still say that it goes on"
    (second,) = arbiter.advance(0.5)
    assert (second.task, second.end_s, second.late_s) == (B, pytest.approx(0.3), pytest.approx(0.05))


def test_a_task_that_says_nothing_waits_for_a_message_and_others_go_on():
    arbiter = arbiter_of(A, B)
    arbiter.request(A, 0.0, 0.03)
    arbiter.request(B, 0.0, 0.05)
    (first,) = arbiter.advance(0.03)
    assert first.task == A
    assert arbiter.next_s() == pytest.approx(0.03 + PATIENCE_S)
    assert arbiter.advance(0.0305) == []
    (second,) = arbiter.advance(0.09)
    assert (second.task, second.end_s) == (B, pytest.approx(0.08)), "B goes on where A ended, not after the patience"


@pytest.mark.parametrize(("rounding_s", "first_again"), [(1e-6, True), (1e-8, False)])
def test_a_task_that_asks_from_its_end_on_goes_on_however_coarse_its_timestamps_are(rounding_s, first_again):
    """Both have wanted the processor since 0. One ends and asks again from 0.5 us later, as its clock rounds."""
    arbiter = Arbiter(SharedProcessor(RULES["linux"], SocialContract()), PATIENCE_S, rounding_s)
    for task in (A, B):
        arbiter.add(task)
        arbiter.request(task, 0.0, 0.01)
    (first,) = arbiter.advance(0.0101)
    arbiter.request(first.task, first.end_s + 0.5e-6, 0.01)
    (second,) = arbiter.advance(0.1)
    assert (second.task == first.task) is first_again


class Given:
    """Local work that is given, not drawn: bursts and thoughts in turn, from a first thought on."""

    def __init__(self, first_s: float, *then_s: float) -> None:
        self.left_s = [first_s, *then_s]

    def next_s(self) -> float:
        return self.left_s.pop(0) if self.left_s else 1e6

    draw_first_s = draw_burst_s = draw_think_s = next_s


def test_a_local_user_who_works_beside_a_task_delays_it_and_is_delayed_as_the_rule_says():
    """Linux: both have a counter of 0.06 at 0.05, where the user's is the larger: it has not run. It goes first."""
    arbiter = arbiter_of(A)
    arbiter.add_user(B, Given(0.05, 0.03, 10.0))
    arbiter.request(A, 0.0, 0.1)
    (grant,) = arbiter.advance(1.0)
    assert (grant.task, grant.late_s) == (A, 0.0)
    assert grant.end_s == pytest.approx(0.13)
    (burst,) = arbiter.take_bursts()
    assert (burst.end_s, burst.processor_s, burst.beside) == (pytest.approx(0.08), 0.03, 1)
    assert burst.delay_s == pytest.approx(0.0)
    assert arbiter.take_bursts() == []
    assert arbiter.parallel_tasks == 1


def test_under_the_contract_a_long_burst_and_a_task_take_turns_of_a_quantum():
    """ccs at a half: the user has it from 0.1 to 0.16, the task until 0.22, and so on for 0.18 s of burst."""
    arbiter = arbiter_of(A, rule="ccs")
    arbiter.add_user(B, Given(0.1, 0.18, 10.0))
    arbiter.request(A, 0.0, 1.0)
    (grant,) = arbiter.advance(5.0)
    assert grant.end_s == pytest.approx(1.18)
    (burst,) = arbiter.take_bursts()
    assert burst.end_s == pytest.approx(0.1 + 3 * 0.06 + 2 * 0.06)
    assert burst.delay_s == pytest.approx(0.12)


@given(scripts(), st.sampled_from(sorted(RULES)), st.integers(0, 1000))
def test_local_users_are_served_as_if_their_bursts_were_a_script(asked, rule, seed):
    """Whatever the tasks do, users live in the arbiter have the processor as users of the core do."""
    drawn = random.Random(seed)
    lengths_s = [drawn.uniform(0.001, 0.2) for _ in range(20)]
    wishes = [("compute" if index % 2 == 0 else "sleep", each) for index, each in enumerate(lengths_s[1:])]
    user = Script([*wishes, ("sleep", 1e5)], local=True, from_s=lengths_s[0])
    asking = Asking(asked, rule, 0.0)
    asking.arbiter.add_user(USER, Given(*lengths_s))
    assert asking.run() == pytest.approx(
        {task: end_s for task, end_s in play({**asked, USER: user}, rule, until_s=1e4).ends_s.items() if task != USER},
        abs=1e-9,
    )


def test_whoever_comes_meets_a_user_who_works_as_often_as_the_user_works():
    work = LocalWork(0.2, 0.8, random.Random(1))
    busy = sum(work.draw_first_s() == 0.0 for _ in range(5000)) / 5000
    assert busy == pytest.approx(0.2, abs=0.02)
    assert sum(work.draw_burst_s() for _ in range(5000)) / 5000 == pytest.approx(0.2, rel=0.06)
    assert sum(work.draw_think_s() for _ in range(5000)) / 5000 == pytest.approx(0.8, rel=0.06)


def test_a_task_that_goes_leaves_the_processor_to_the_others():
    arbiter = arbiter_of(A, B)
    arbiter.request(A, 0.0, 100.0)
    arbiter.request(B, 0.0, 1.0)
    assert arbiter.remove(A, 0.5) == []
    had_s = sum(end - begin for begin, end in [(0.06, 0.12), (0.18, 0.24), (0.30, 0.36), (0.42, 0.48)])
    (grant,) = arbiter.advance(3.0)
    assert grant.end_s == pytest.approx(0.5 + 1.0 - had_s, abs=0.06)
    assert arbiter.remove(B, 3.0) == []
    assert arbiter.parallel_tasks == 0
    assert arbiter.next_s() == math.inf


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ((A, 0.0, 1.0), "Task 1 asks again"),
        ((3, 0.0, 1.0), "Task 3 is not on this processor"),
        ((B, 0.0, -1.0), "cannot ask for -1.0 s"),
        ((B, math.nan, 1.0), "from the timestamp nan on"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(request_, said):
    arbiter = arbiter_of(A, B)
    arbiter.request(A, 0.0, 1.0)
    with pytest.raises(InvalidInput, match=said):
        arbiter.request(*request_)


def test_a_task_that_goes_is_told_nothing_though_its_request_came_due():
    arbiter = arbiter_of(A, B)
    arbiter.request(A, 0.0, 1.0)
    assert arbiter.remove(A, 5.0) == []
    arbiter.request(B, 5.0, 1.0)
    assert [grant.task for grant in arbiter.advance(7.0)] == [B]
