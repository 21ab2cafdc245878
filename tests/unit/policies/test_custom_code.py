"""A researcher's own classes: loaded from text, and every fault of theirs is one sentence that names it."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, PolicyFailed, UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.policies.answer_checks import check_answers, take
from emulator.policies.custom_answers import plain_answers
from emulator.policies.factory import check_live, deciders, discipline_generator
from emulator.policies.names import ENTRY_POINTS
from emulator.policies.placement.fixed import place_where_named
from emulator.policies.protocols import Arrival, Reject, Scan, Start, WaitingJob
from emulator.policies.registry import placement_policy, queue_discipline
from emulator.policies.state import SystemState
from tests.unit.broker.own_policies import BEST_FIT, HEAD, SMALLEST_FIRST

IDLE = SystemState((8, 8), (8, 3), 0.0)
MINI = topology_named("mini")
NAME = "mine.py:Mine"


def request(*components: int) -> JobRequest:
    return JobRequest(RequestKind.NON_FIXED, components)


def policy(source: str):
    return placement_policy(NAME, {"mine.py": source})


def placing(body: str):
    """The policy whose `place` does `body`, which stands on line 11."""
    return policy(
        f"{HEAD}\n\nclass Mine:\n    accepts = {{RequestKind.NON_FIXED}}\n"
        f"    def place(self, request, state):\n        {body}\n"
    )


def test_what_a_policy_answers_is_plain():
    placed = policy(BEST_FIT).place(request(3, 4), IDLE)
    assert placed == Placement((Component(1, 3), Component(0, 4)))
    odd = placing("return Placement((Component(False, 3),), transfer_s=0)").place(request(3), IDLE)
    assert repr(odd.components[0].cluster) == "0"
    assert repr(odd.transfer_s) == "0.0"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return 1 / 0", r"mine\.py:Mine: place raised ZeroDivisionError: division by zero \(mine\.py, line 11\)\.$"),
        ("raise SystemExit(3)", r"place raised SystemExit: 3 \(mine\.py, line 11\)\.$"),
        ("raise ValueError('one\\ntwo')", r"ValueError: one two \(mine\.py, line 11\)\.$"),
        ("return self.place(request, state)", "place raised RecursionError"),
        ("return 'amsterdam'", "a Placement or None is an answer, str is not"),
        ("return Placement((Component(0.5, 3),))", "TypeError"),
        ("return Placement((Component(7, 3),))", "on cluster 7, but there are only 0 to 1"),
        ("return Placement((Component(-1, 3),))", "on cluster -1"),
        ("return Placement((Component(1, 3), Component(1, 1)))", "on cluster 1, where 0 are idle"),
        ("return Placement((Component(0, -3),))", "-3 processors"),
        ("return Placement((Component(0, 3),), file_sites=(0, 1))", "one cluster for each component"),
        ("return Placement((Component(0, 3),), file_sites=(7,))", "one cluster for each component"),
        ("return Placement((Component(0, 3),), transfer_s=10.0)", "needs file_sites"),
        ("return Placement((Component(0, 2),))", "places 2 processors for a job, which asked for 3"),
        ("return Placement((Component(0, 3),), transfer_s=float('nan'))", "no number of seconds"),
    ],
)
def test_what_a_policy_does_wrong_is_one_sentence(body, sentence):
    with pytest.raises(PolicyFailed, match=sentence) as refused:
        placing(body).place(request(3), IDLE)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("this is no python", "cannot be loaded: SyntaxError"),
        ("\x00", "cannot be loaded"),
        ("import nothing_of_this_name", r"ModuleNotFoundError: .* \(mine\.py, line 1\)"),
        ("import sys\nsys.exit(1)", r"SystemExit: 1 \(mine\.py, line 2\)"),
        ("Mine = 3", "cannot be made without arguments"),
        ("class Mine:\n    accepts = ()", "lacks place"),
        ("class Mine:\n    accepts = 3\n    place = 1", "accepts raised TypeError"),
        ("class Mine:\n    accepts = ('non-fixed',)\n    place = 1", "kinds of request"),
        ("class Mine:\n    def __init__(self):\n        raise KeyError('x')", r"KeyError: 'x' \(mine\.py, line 3\)"),
        ("class Yours: ...", "no class 'Mine'"),
        (
            "from emulator.policies.placement.worst_fit import WorstFit\nclass Mine(WorstFit): ...",
            r"^mine\.py:Mine extends WorstFit of the testbed, .*: leave this base class out",
        ),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_in_one_sentence(source, sentence):
    with pytest.raises(InvalidInput, match=sentence) as refused:
        policy(source)
    assert "\n" not in str(refused.value)


def test_a_class_of_the_testbed_is_held_or_named_but_not_extended():
    """Whether it is compiled here or not; a base class of one's own is no hindrance."""
    held = (
        "from emulator.policies.queues.global_scheduler import GlobalScheduler\n\n\n"
        "class Own:\n    waits = 7\n\n\n"
        "class Mine(Own):\n"
        "    def __init__(self):\n        self._held = GlobalScheduler()\n\n"
        "    def __getattr__(self, name):\n        return getattr(self._held, name)\n"
    )
    extended = held.replace("class Own:", "class Own(GlobalScheduler):")
    named = "from emulator.policies.queues.global_scheduler import GlobalScheduler as Mine"
    for usable in (held, named):
        assert queue_discipline(NAME, Scanning(), {"mine.py": usable}).waiting() == []
    returned = extended.replace("class Mine(", "class Sub(") + "\n\ndef Mine():\n    return Sub()\n"
    for refused in (extended, returned):
        with pytest.raises(InvalidInput, match=r"Mine extends (GlobalScheduler|a class) of the testbed"):
            queue_discipline(NAME, Scanning(), {"mine.py": refused})


@pytest.mark.parametrize(
    ("placed", "is_kept"),
    [
        ("(Component(1, 3), Component(0, 4))", True),
        ("(Component(0, 4), Component(1, 3))", False),
        ("(Component(0, 7),)", False),
    ],
)
def test_a_placement_has_the_components_of_the_request_in_their_order(placed, is_kept):
    own = placing(f"return Placement({placed})")
    if is_kept:
        assert [part.processors for part in own.place(request(3, 4), IDLE).components] == [3, 4]
        return
    with pytest.raises(PolicyFailed, match=r"asked for \[3, 4\]: give each of these its cluster, in the order"):
        own.place(request(3, 4), IDLE)


def test_a_flexible_total_is_split_as_the_policy_likes():
    own = placing("return Placement((Component(0, 4), Component(1, 3)))")
    assert own.place(JobRequest(RequestKind.FLEXIBLE, (7,)), IDLE).processors == 7


def test_no_policy_of_ones_own_is_asked_about_fixed_requests():
    source = BEST_FIT.replace("frozenset({RequestKind.NON_FIXED})", "frozenset(RequestKind)")
    own = policy(source)
    assert own.accepts == set(RequestKind) - {RequestKind.FIXED}
    placement = place_where_named(JobRequest(RequestKind.FIXED, (2,), (0,)), IDLE, own)
    assert placement == Placement((Component(0, 2),)), "best fit would be cluster 1"


def test_dataclasses_may_be_used_and_nothing_stays_among_the_modules():
    before = set(sys.modules)
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n"
        "@dataclass(slots=True)\nclass Own:\n    a: int\n"
    )
    assert policy(source + BEST_FIT).accepts == {RequestKind.NON_FIXED}
    assert set(sys.modules) == before


def test_where_sources_are_given_no_file_of_the_disk_is_read(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(BEST_FIT)
    assert placement_policy(f"{file}:Mine").accepts
    with pytest.raises(InvalidInput, match="among the sources"):
        placement_policy(f"{file}:Mine", {})
    with pytest.raises(UnknownName, match="live policy"):
        check_live("gs", f"{file}:Mine", {}, MINI)
    check_live("gs", NAME, {"mine.py": ""}, MINI)


@pytest.mark.parametrize("kind", ["policy", "queue"])
def test_an_entry_point_is_refused_live_with_the_remedy(monkeypatch, kind):
    point = EntryPoint("theirs", "nowhere:Theirs", ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    named = {"queue": "gs", "policy": "wf", kind: "theirs"}
    with pytest.raises(InvalidInput, match=rf"^{kind}: 'theirs' is an entry point .* \(`--{kind} FILE\.py:CLASS`\)"):
        check_live(**named, sources={}, topology=MINI)


def test_an_entry_point_of_an_installed_package_is_a_policy(installed):
    installed("their_module:Mine", BEST_FIT)
    assert placement_policy("theirs").accepts == {RequestKind.NON_FIXED}


@pytest.mark.parametrize(
    ("value", "source", "why"),
    [
        ("nowhere_at_all:Mine", "", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("their_module:Mine", "", "AttributeError: module 'their_module' has no attribute 'Mine'"),
        ("their_module:Mine", "import sys\nsys.exit('gone\\nfor good')", "SystemExit: gone for good"),
        ("their_module:Mine", "1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("made", [placement_policy, lambda name: queue_discipline(name, Scanning())])
def test_an_entry_point_that_cannot_be_loaded_is_named_with_its_package_in_one_sentence(
    installed, value, source, why, made
):
    installed(value, source)
    with pytest.raises(InvalidInput) as refused:
        made("theirs")
    assert str(refused.value) == (
        f"Entry point 'theirs' of package 'their-policies' ({value}) cannot be loaded: {why}; install that package "
        "again or mend it."
    )


def test_a_discipline_that_wants_the_same_scan_again_is_refused():
    source = SMALLEST_FIRST.replace("return None", "return 4.0")
    discipline = queue_discipline(NAME, Scanning(), {"mine.py": source})
    with pytest.raises(PolicyFailed, match="must move on"):
        discipline.decide(Scan(), IDLE, placement_policy("wf"), discipline_generator(0))


@pytest.mark.parametrize("timestamp", ["'soon'", "float('nan')", "float('inf')", "[]"])
def test_a_scan_is_wanted_at_a_moment(timestamp):
    discipline = queue_discipline(
        NAME, Scanning(), {"mine.py": SMALLEST_FIRST.replace("return None", f"return {timestamp}")}
    )
    with pytest.raises(PolicyFailed, match="next_scan_s raised"):
        discipline.next_scan_s()


def test_a_snapshot_that_a_record_could_not_give_back_is_refused():
    source = SMALLEST_FIRST.replace("[remembered(job) for job in self._jobs]", "[float('inf')]")
    made = deciders(NAME, "wf", Scanning(), 0, {"mine.py": source})
    with pytest.raises(PolicyFailed, match="snapshot raised ValueError: Out of range float"):
        made.snapshot()


def test_a_snapshot_is_plain():
    source = SMALLEST_FIRST.replace("[remembered(job) for job in self._jobs]", "self._jobs")
    made = deciders(NAME, "wf", Scanning(), 0, {"mine.py": source})
    made.decide(Arrival(WaitingJob(1, request(9))), IDLE)
    with pytest.raises(PolicyFailed, match="snapshot raised TypeError: Object of type WaitingJob"):
        made.snapshot()


def test_what_is_no_answer_is_refused():
    with pytest.raises(TypeError, match="int is not"):
        plain_answers([3])
    with pytest.raises(TypeError):
        plain_answers([Start(1, None)])
    assert plain_answers((Reject(1, "why", 2),)) == [Reject(1, "why", 2)]


WAITING = {1: request(3), 2: request(4)}


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([Reject(3, "")], "job 3, which does not wait"),
        ([Reject(1, ""), Start(1, Placement((Component(0, 3),)))], "job 1, which does not wait"),
        ([Start(1, Placement((Component(0, 3),))), Start(2, Placement((Component(0, 4),)))], "where 3 are idle"),
        ([Start(2, Placement((Component(1, 3),)))], "3 processors for job 2, which asked for 4"),
        ([Start(2, Placement((Component(2, 4),)))], "job 2 on cluster 2"),
    ],
)
def test_answers_that_cannot_be_carried_out(answers, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        check_answers(answers, (6, 6), WAITING.get)


@given(
    idle=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    parts=st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 9)), max_size=4),
)
def test_what_is_taken_was_there(idle, parts):
    placement = Placement(tuple(Component(cluster, size) for cluster, size in parts))
    left = list(idle)
    try:
        take(left, 1, sum(size for _, size in parts), placement)
    except InvalidInput:
        return
    assert min(left) >= 0
    assert sum(idle) - sum(left) == sum(size for _, size in parts)
