"""Recorded decisions made again: the same discipline, policy and random numbers on the same states.

Pure: decisions in, differences out. Only what a decision says is compared - its answers, how many jobs wait after it,
and at a snapshot all that is remembered. A discipline that differs once remembers something else from then on, so the
first difference is the one to look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.model.errors import TestbedError
from emulator.policies.deciding import Deciders
from emulator.policies.decisions import Decision, answer_record
from emulator.policies.protocols import Reject, Start


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs at the decision of that `number`, made at `time_s`: what the record says, and what came of it."""

    number: int
    time_s: float
    what: str
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replay:
    """How many decisions were made again, and how they differ."""

    decisions: int
    differences: tuple[Difference, ...]


def replay(decisions: Iterable[Decision], deciders: Deciders, processors: Sequence[int]) -> Replay:
    """Make `decisions` again with `deciders`, as new as the run's were, on clusters with `processors` each."""
    count = 0
    differences: list[Difference] = []
    for decision in decisions:
        count += 1
        differences += _differences(decision, deciders, processors)
    return Replay(count, tuple(differences))


def _differences(decision: Decision, deciders: Deciders, processors: Sequence[int]) -> list[Difference]:
    try:
        found = [] if decision.snapshot is None else _at_snapshot(decision, decision.snapshot, deciders)
        answers = deciders.decide(decision.event, decision.state(processors))
        waiting = len(deciders.discipline.waiting())
    except (TestbedError, LookupError, ValueError, TypeError) as error:
        # What was recorded was once decided; a record that cannot be is not that of such a decision.
        said = f"{type(error).__name__}: {error}"
        return [Difference(decision.number, decision.time_s, "decision", _answers_text(decision.answers), said)]
    if tuple(answers) != decision.answers:
        said = _answers_text(answers)
        found.append(Difference(decision.number, decision.time_s, "answers", _answers_text(decision.answers), said))
    if waiting != decision.waiting:
        found.append(Difference(decision.number, decision.time_s, "waiting", str(decision.waiting), str(waiting)))
    return found


def _at_snapshot(decision: Decision, recorded: Mapping[str, Any], deciders: Deciders) -> list[Difference]:
    """What is remembered otherwise than recorded; a process's first decision begins with what it says instead."""
    wanted, remembered = _plain(recorded), _plain(deciders.snapshot())
    if decision.number == 0 or wanted == remembered:
        deciders.restore(wanted)
        return []
    deciders.restore(wanted)
    return [Difference(decision.number, decision.time_s, "snapshot", json.dumps(wanted), json.dumps(remembered))]


def _plain(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(snapshot))
    return plain


def _answers_text(answers: Sequence[Start | Reject]) -> str:
    return json.dumps([answer_record(answer) for answer in answers])
