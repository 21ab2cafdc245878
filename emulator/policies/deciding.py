"""Discipline, policy and random numbers of a run, made of what a run request states.

The broker makes them for a live run and replay makes them again from the run's records, both here, so that the same
request gives the same decisions; the simulator takes its disciplines and random numbers from here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.random import Generator

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scanning import Scanning
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline, Reject, SchedulingEvent, Start
from emulator.policies.registry import (
    PLACEMENT_POLICIES,
    QUEUE_DISCIPLINES,
    SCANNING_DISCIPLINES,
    own_file,
    placement_policy,
    queue_discipline,
)
from emulator.policies.state import SystemState

DISCIPLINE_STREAM: Final = 0x51
"""Keeps the discipline's random numbers apart from those of workloads made with the same seed."""

SIMULATED_ONLY: Final = {"sc": "it needs one cluster as large as all of them together"}
"""What does not run live, and why."""


@dataclass(frozen=True, slots=True)
class Deciders:
    """Everything that a run's decisions come from, beside the events and the states they are made on."""

    discipline: QueueDiscipline
    policy: PlacementPolicy
    rng: Generator

    def decide(self, event: SchedulingEvent, state: SystemState) -> Sequence[Start | Reject]:
        """The discipline's answers to `event`."""
        return list(self.discipline.decide(event, state, self.policy, self.rng))

    def snapshot(self) -> dict[str, Any]:
        """All that the next decision depends on, as plain values from which `restore` goes on."""
        return {"discipline": self.discipline.snapshot(), "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what `snapshot` describes."""
        self.discipline.restore(snapshot["discipline"])
        self.rng.bit_generator.state = snapshot["rng"]


def deciders(
    queue: str, policy: str, scanning: Scanning, seed: int, sources: Mapping[str, str] | None = None
) -> Deciders:
    """What decides in a run with these names; fixed requests are placed where they say under every policy.

    Raises:
        UnknownName: if there is no such queue or policy.
        InvalidInput: if the queue is to be scanned in a way that it is not, or a file of `sources` cannot be used.
    """
    return Deciders(
        discipline_scanned(queue, scanning, sources),
        AcceptingFixed(placement_policy(policy, sources)),
        discipline_generator(seed),
    )


def discipline_scanned(queue: str, scanning: Scanning, sources: Mapping[str, str] | None = None) -> QueueDiscipline:
    """The discipline called `queue`, scanned as `scanning` says.

    Raises:
        UnknownName: if there is no such queue.
        InvalidInput: if the queue is to be scanned in a way that it is not.
    """
    if queue in QUEUE_DISCIPLINES and queue not in SCANNING_DISCIPLINES:
        stated = {
            "adaptive_scans": scanning.adaptive,
            "tries_threshold": scanning.tries_threshold is not None,
            "scans_at_departures": scanning.at_departures,
        }
        for key, is_stated in stated.items():
            if is_stated:
                raise InvalidInput(f"{key}: queue {queue!r} is never scanned, so this means nothing; leave it out.")
    return queue_discipline(queue, scanning, sources)


def discipline_generator(seed: int) -> Generator:
    """The random numbers of a discipline in a run with this seed."""
    return numpy.random.default_rng([seed, DISCIPLINE_STREAM])


def check_live(queue: str, policy: str, sources: Mapping[str, str]) -> None:
    """Let a queue and a policy pass that run on a testbed: those that come with it and need nothing that it lacks.

    Classes in files pass if their file is among `sources`; whether they can be used is seen when they are made.

    Raises:
        UnknownName: if one of them neither comes with the testbed nor with the request.
        InvalidInput: if one of them is simulated only.
    """
    for kind, name, known in (("policy", policy, list(PLACEMENT_POLICIES)), ("queue", queue, list(QUEUE_DISCIPLINES))):
        if name in SIMULATED_ONLY:
            raise InvalidInput(f"{kind}: {name!r} is simulated only: {SIMULATED_ONLY[name]} (use `testbed simulate`).")
        if name not in known and own_file(name) not in sources:
            live = [each for each in known if each not in SIMULATED_ONLY]
            raise UnknownName.among(f"live {kind}", name, live)
