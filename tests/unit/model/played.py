"""Tasks with scripts on one shared processor: who has it, from when until when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from emulator.model.time_sharing.processor import NOBODY, SharedProcessor
from emulator.model.time_sharing.rules import RULES, SharingRule, SocialContract

LOCAL = True


@dataclass(frozen=True)
class Script:
    """What a task does from `from_s` on: ("compute", s), ("sleep", s), or ("message", at): it waits until then."""

    wishes: Sequence[tuple[str, float]]
    local: bool = False
    from_s: float = 0.0
    weight: float = 1.0


@dataclass
class Played:
    """Who had the processor when, when each task's script was over, and when local tasks wanted the processor."""

    segments: list[tuple[float, float, int]] = field(default_factory=list)
    ends_s: dict[int, float] = field(default_factory=dict)
    wanting: list[tuple[float, float, frozenset[int]]] = field(default_factory=list)
    processor: SharedProcessor | None = None

    def held(self, task: int) -> list[tuple[float, float]]:
        """The times for which `task` had the processor, neighbouring ones joined, rounded to a nanosecond."""
        joined: list[list[float]] = []
        for begin, end, holder in self.segments:
            if holder != task or end - begin < 1e-12:
                continue
            if joined and abs(joined[-1][1] - begin) < 1e-12:
                joined[-1][1] = end
            else:
                joined.append([begin, end])
        return [(round(begin, 9), round(end, 9)) for begin, end in joined]


def play(
    scripts: Mapping[int, Script], rule: str | SharingRule = "linux", share: float = 0.5, until_s: float = math.inf
) -> Played:
    """Play the scripts until all are over."""
    rule = RULES[rule] if isinstance(rule, str) else rule
    processor = SharedProcessor(rule, SocialContract(share))
    played = Played(processor=processor)
    player = _Player(processor, scripts, played)
    player.run(until_s)
    return played


class _Player:
    def __init__(self, processor: SharedProcessor, scripts: Mapping[int, Script], played: Played) -> None:
        self.processor, self.scripts, self.played = processor, scripts, played
        self.at = dict.fromkeys(scripts, 0)
        self.wakes: list[tuple[float, int, int, bool]] = []
        self.number = 0
        self.wants: set[int] = set()
        for task, script in scripts.items():
            processor.add(task, local=script.local, weight=script.weight)
            self.wake(script.from_s, task, False)

    def wake(self, time_s: float, task: int, delivers: bool) -> None:
        self.number += 1
        heappush(self.wakes, (time_s, self.number, task, delivers))

    def run(self, until_s: float) -> None:
        now = 0.0
        while True:
            due = min(self.processor.next_s(), self.wakes[0][0] if self.wakes else math.inf)
            if due == math.inf or due > until_s:
                return
            before_s = self.given_s()
            met = self.processor.advance(due)
            self.played.segments.append((now, due, self.holder_since(before_s)))
            self.played.wanting.append((now, due, frozenset(self.wants)))
            now = due
            if met != NOBODY:
                self.wants.discard(met)
                self.next_wish(met, now)
                continue
            if self.wakes and self.wakes[0][0] == due and self.processor.next_s() > due:
                _, _, task, delivers = heappop(self.wakes)
                if delivers:
                    self.wants.add(task)
                    self.processor.deliver(task)
                else:
                    self.next_wish(task, now)

    def given_s(self) -> dict[int, float]:
        return {task: self.processor.given_s(task) for task in self.scripts}

    def holder_since(self, before_s: Mapping[int, float]) -> int:
        """Return the task that has had the processor since each had had as much as `before_s` says."""
        return next((task for task, given_s in self.given_s().items() if given_s > before_s[task]), NOBODY)

    def next_wish(self, task: int, now: float) -> None:
        wishes = self.scripts[task].wishes
        if self.at[task] == len(wishes):
            self.played.ends_s[task] = now
            self.processor.wait(task)
            return
        kind, value = wishes[self.at[task]]
        self.at[task] += 1
        if kind == "compute":
            self.wants.add(task)
            self.processor.compute(task, value)
        elif kind == "sleep":
            self.processor.wait(task)
            self.wake(now + value, task, False)
        elif value <= now:
            self.next_wish(task, now)
        else:
            self.processor.receive(task)
            self.wake(value, task, True)
