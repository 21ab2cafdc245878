"""Local users of clusters that exist on paper only: their jobs start at once, and end when a test says so."""

from __future__ import annotations

import time
from collections import Counter

from emulator.containers.programs import OnLine
from emulator.model.errors import TestbedBusy
from emulator.runs.local_users import Account


class ScriptedUsers:
    """Local users whose jobs start where `processors` are idle, in each cluster first come, first served."""

    def __init__(self, processors: dict[str, int]) -> None:
        self.processors = processors
        self.running: dict[str, dict[str, int]] = {cluster: {} for cluster in processors}
        self.waiting: dict[str, dict[str, int]] = {cluster: {} for cluster in processors}
        self.submitted: list[tuple[str, str, Account, int, float]] = []
        self.host_lengths_s: dict[str, float] = {}
        self.prolonged: list[tuple[str, str, float]] = []
        self.most_held: Counter[str] = Counter()
        self.grid: Counter[str] = Counter()
        self.is_open = False
        self.cleared = 0
        self.refusal = ""
        self._on_line: OnLine = lambda cluster, line: None

    def open(self, on_line: OnLine) -> None:
        if self.is_open:
            raise TestbedBusy("A background load runs already.")
        self.is_open, self._on_line = True, on_line

    def submit(self, cluster: str, job: str, account: Account, processors: int, host_length_s: float) -> None:
        self.submitted.append((cluster, job, account, processors, host_length_s))
        if self.refusal:
            self.say(cluster, f"refused {time.time()} {job} {self.refusal}")
            return
        self.waiting[cluster][job] = processors
        self._start(cluster)

    def prolong(self, cluster: str, job: str, host_length_s: float) -> None:
        self.prolonged.append((cluster, job, host_length_s))

    def cancel(self, cluster: str, job: str) -> None:
        self.end(cluster, job)

    def list_jobs(self, cluster: str, number: int) -> None:
        idle = self.processors[cluster] - self.grid[cluster] - sum(self.running[cluster].values())
        jobs = [f"{job}:R" for job in self.running[cluster]] + [f"{job}:PD" for job in self.waiting[cluster]]
        self.say(cluster, f"listed {time.time()} {number} {idle} {' '.join(jobs)}")

    def close(self) -> None:
        for jobs in (*self.running.values(), *self.waiting.values()):
            jobs.clear()
        self.is_open = False

    def clear(self) -> None:
        self.cleared += 1

    def end(self, cluster: str, job: str, *, silently: bool = False) -> None:
        self.running[cluster].pop(job, None)
        self.waiting[cluster].pop(job, None)
        if not silently:
            self.say(cluster, f"ended {time.time()} {job}")
        self._start(cluster)

    def say(self, cluster: str, line: str | None) -> None:
        self._on_line(cluster, line)

    def _start(self, cluster: str) -> None:
        while self.waiting[cluster]:
            job, processors = next(iter(self.waiting[cluster].items()))
            if sum(self.running[cluster].values()) + processors > self.processors[cluster]:
                return
            del self.waiting[cluster][job]
            self.running[cluster][job] = processors
            self.most_held[cluster] = max(self.most_held[cluster], sum(self.running[cluster].values()))
            self.say(cluster, f"started {time.time()} {job}")
