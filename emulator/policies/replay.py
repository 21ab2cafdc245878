"""Replay of recorded decisions: the same discipline, policy and random numbers on the same states.

The functions are pure: they take decisions and return differences. They compare the answers, the number of jobs waiting
after each decision and, at a snapshot, the state of the deciders. After one difference the discipline's state differs,
too, and causes others, so look at the first difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.model.errors import TestbedError
from emulator.policies.decisions import Decision, answer_record
from emulator.policies.factory import DecisionMaker
from emulator.policies.protocols import Reject, Start


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the recorded and the replayed decision `number`, made at the emulated timestamp `time_s`."""

    number: int
    time_s: float
    what: str
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replay:
    """The number of replayed decisions, and their differences from the record."""

    decisions: int
    differences: tuple[Difference, ...]


def replay(decisions: Iterable[Decision], deciders: DecisionMaker, processors: Sequence[int]) -> Replay:
    """Replay `decisions` on clusters with `processors` each; `deciders` must be new, as at the start of the run."""
    count = 0
    differences: list[Difference] = []
    for decision in decisions:
        count += 1
        differences += _differences(decision, deciders, processors)
    return Replay(count, tuple(differences))


def _differences(decision: Decision, deciders: DecisionMaker, processors: Sequence[int]) -> list[Difference]:
    try:
        found = [] if decision.snapshot is None else _at_snapshot(decision, decision.snapshot, deciders)
        answers = deciders.decide(decision.event, decision.state(processors))
        waiting = len(deciders.discipline.waiting())
    except (TestbedError, LookupError, ValueError, TypeError) as error:
        # Every recorded decision was once made; if it cannot be made again, the record differs from it.
        said = f"{type(error).__name__}: {error}"
        return [Difference(decision.number, decision.time_s, "decision", _answers_text(decision.answers), said)]
    if tuple(answers) != decision.answers:
        said = _answers_text(answers)
        found.append(Difference(decision.number, decision.time_s, "answers", _answers_text(decision.answers), said))
    if waiting != decision.waiting:
        found.append(Difference(decision.number, decision.time_s, "waiting", str(decision.waiting), str(waiting)))
    return found


def _at_snapshot(decision: Decision, recorded: Mapping[str, Any], deciders: DecisionMaker) -> list[Difference]:
    """Compare the deciders' state with the recorded snapshot, then restore the snapshot.

    The first decision of a process is not compared, because the process may have begun with a restored state.
    """
    expected, remembered = _plain(recorded), _plain(deciders.snapshot())
    if decision.number == 0 or expected == remembered:
        deciders.restore(expected)
        return []
    deciders.restore(expected)
    return [Difference(decision.number, decision.time_s, "snapshot", json.dumps(expected), json.dumps(remembered))]


def _plain(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(snapshot))
    return plain


def _answers_text(answers: Sequence[Start | Reject]) -> str:
    return json.dumps([answer_record(answer) for answer in answers])
