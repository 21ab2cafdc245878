"""The engine: the events of all nodes in order of their timestamps.

An event is something that a processor does by itself, a message that reaches an access link, one that arrives, a task
whose messages are all sent and taken in, a local user who asks for a burst, or a call that was asked for, such as the
arrival of a job; events with equal timestamps come in this order, and those of one kind in the order in which they
became known. Before anything happens to a node, its processor is advanced to that timestamp. The engine starts jobs
where it is told to and reports their ends; it decides nothing.

A task that has computed sends its messages, and waits until they have left its node and those that it needs are there,
unless that is so at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Final, final

from emulator.model.local_users import AskedBurst
from emulator.model.time_sharing.processor import NOBODY, SharedProcessor
from emulator.simulator.time_shared.network import SharedNetwork
from emulator.simulator.time_shared.tasks import JobRun, Ranks, TaskRun, UserRun

NEVER: Final = math.inf

PROCESSOR: Final = 0
LINK: Final = 1
MESSAGE: Final = 2
THROUGH: Final = 3
BURST: Final = 4
CALL: Final = 5

LEAST_SHARE: Final = 0.01
"""The least share that a job is assumed to get of a node with local users, even if the contract gives it nothing."""

Event = tuple[float, int, int, int, int]
OnCall = Callable[[int, int, float], None]
"""Called with the kind and the subject of a call, and its timestamp."""
OnFinished = Callable[[JobRun, float], None]
OnBurst = Callable[[int, float], None]
"""Called with the number of parallel jobs beside a local user's burst, and how long it was delayed."""


@final
class SharedNodes:
    """Nodes that run tasks of jobs beside each other and beside local users.

    `local_shares` holds for each node the share that parallel work has where local users work, and 1 elsewhere; with
    `balances`, the quanta of a job's tasks follow the node that gives the job least.
    """

    def __init__(
        self,
        processors: list[SharedProcessor],
        network: SharedNetwork,
        local_shares: list[float],
        balances: bool,
        on_call: OnCall,
        on_finished: OnFinished,
        on_burst: OnBurst,
    ) -> None:
        self._processors = processors
        self._network = network
        self._local_shares = local_shares
        self._balances = balances
        self._on_call = on_call
        self._on_finished = on_finished
        self._on_burst = on_burst
        self._events: list[Event] = []
        self._number: int = 0
        self._due_s: list[float] = [NEVER] * len(processors)
        self._tasks: dict[int, TaskRun] = {}
        self._users: dict[int, UserRun] = {}
        self._next_id: int = 0
        self._running: dict[int, JobRun] = {}
        self._on_node: list[int] = [0] * len(processors)
        self._ended: list[JobRun] = []
        self._calls_left: int = 0
        self.events: int = 0

    @property
    def running(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    def add_user(
        self, node: int, burst_s: float, think_s: float, numbers: object, recorded: Sequence[AskedBurst] = ()
    ) -> None:
        """Let a local user work at `node`: first the `recorded` bursts, then bursts and thoughts of these means."""
        user = UserRun(self._new_id(), node, burst_s, think_s, numbers, recorded)
        self._users[user.id] = user
        self._processors[node].add(user.id, local=True)
        self._expect(user.next_s(0.0), BURST, user.id, 0)

    def call_at(self, time_s: float, kind: int, subject: int) -> None:
        """Let `on_call` be called with `kind` and `subject` at `time_s`."""
        self._calls_left += 1
        self._expect(time_s, CALL, subject, kind)

    def start(self, job: JobRun, nodes: Sequence[int], now_s: float) -> None:
        """Start a job at `now_s`, a task on each of `nodes` in order of rank."""
        self._running[job.id] = job
        job.left = len(nodes)
        for rank, node in enumerate(nodes):
            self._bring(node, now_s)
            task = TaskRun(self._new_id(), job, rank, node, len(nodes))
            self._tasks[task.id] = task
            job.tasks.append(task)
            self._processors[node].add(task.id)
            self._on_node[node] += 1
            self._processors[node].compute(task.id, job.compute_s)
            self._note_due(node)
        self._balance()

    def run(self) -> None:
        """Simulate until all calls have been made and no job runs."""
        while self._events and (self._calls_left > 0 or self._running):
            now_s, kind, _, subject, other = heappop(self._events)
            if kind == PROCESSOR:
                if self._due_s[subject] != now_s:
                    continue
                self._due_s[subject] = NEVER
                self._bring(subject, now_s)
                self._note_due(subject)
            elif kind == LINK:
                self._cross(self._tasks[subject], other, now_s)
            elif kind == MESSAGE:
                self._arrive(self._tasks[subject], other, now_s)
            elif kind == THROUGH:
                self._wake(self._tasks[subject], now_s)
            elif kind == BURST:
                self._ask(self._users[subject], now_s)
            else:
                self._calls_left -= 1
                self._on_call(other, subject, now_s)
            self.events += 1
            while self._ended:
                self._finish(self._ended.pop(0), now_s)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _expect(self, time_s: float, kind: int, subject: int, other: int) -> None:
        self._number += 1
        heappush(self._events, (time_s, kind, self._number, subject, other))

    def _note_due(self, node: int) -> None:
        due_s = self._processors[node].next_s()
        if due_s != self._due_s[node]:
            self._due_s[node] = due_s
            if due_s < NEVER:
                self._expect(due_s, PROCESSOR, node, 0)

    def _bring(self, node: int, now_s: float) -> None:
        """Advance a node's processor to `now_s`, and let the tasks go on whose wishes are met by then."""
        processor = self._processors[node]
        while True:
            due_s = processor.next_s()
            if due_s > now_s:
                processor.advance(now_s)
                return
            met = processor.advance(due_s)
            if met != NOBODY:
                self._go_on(processor, met, due_s)

    def _go_on(self, processor: SharedProcessor, id: int, now_s: float) -> None:
        task = self._tasks.get(id)
        if task is None:
            self._rest(processor, self._users[id], now_s)
        elif task.receives:
            task.receives = False
            self._next_step(processor, task)
        else:
            self._exchange(processor, task, now_s)

    def _exchange(self, processor: SharedProcessor, task: TaskRun, now_s: float) -> None:
        """Send the messages of a task's step; go on if all is sent and those that it needs are in, else wait."""
        job = task.job
        phase = task.step % len(job.sends_to)
        self._send(task, job.sends_to[phase][task.rank], now_s)
        sources = job.sources[phase][task.rank]
        owed = task.owed
        missing = 0
        for source in sources:
            owed[source] -= 1
            if owed[source] < 0:
                missing += 1
        if task.early:
            self._take_in_early(task, sources)
        task.missing = missing
        if missing == 0 and task.through_s() <= now_s:
            self._next_step(processor, task)
            return
        task.receives = True
        processor.receive(task.id)
        if missing == 0:
            self._expect(task.through_s(), THROUGH, task.id, 0)

    def _send(self, task: TaskRun, targets: Ranks, now_s: float) -> None:
        """Send a message to each of `targets`: to another cluster it first has to reach the access link."""
        job, network = task.job, self._network
        for target in targets:
            to = job.tasks[target]
            sent_s = network.sent_s(task.node, job.message_bytes, now_s)
            task.sent_s = sent_s
            if network.is_inside(task.node, to.node):
                self._expect(sent_s + network.latency_s, MESSAGE, to.id, task.rank)
            else:
                self._expect(sent_s, LINK, to.id, task.rank)

    def _cross(self, to: TaskRun, source: int, now_s: float) -> None:
        job = to.job
        arrival_s = self._network.crossed_s(job.tasks[source].node, to.node, job.message_bytes, now_s)
        self._expect(arrival_s, MESSAGE, to.id, source)

    def _take_in_early(self, task: TaskRun, sources: Ranks) -> None:
        """Take in, in order of arrival, what this step needs of the messages that have arrived before it."""
        wanted = list(sources)
        later: list[tuple[float, int]] = []
        for arrival_s, source in task.early:
            if source in wanted:
                wanted.remove(source)
                self._take_in(task, source, arrival_s)
            else:
                later.append((arrival_s, source))
        task.early = later

    def _take_in(self, task: TaskRun, source: int, arrival_s: float) -> None:
        """Take a message in, no faster than the interconnect's rate; as live, one from another cluster at once."""
        job = task.job
        if self._network.is_inside(job.tasks[source].node, task.node):
            task.taken_in_s = max(arrival_s, task.taken_in_s + job.transmission_s)

    def _next_step(self, processor: SharedProcessor, task: TaskRun) -> None:
        task.step += 1
        job = task.job
        if task.step < job.steps:
            processor.compute(task.id, job.compute_s)
            return
        job.given_s += processor.given_s(task.id)
        processor.remove(task.id)
        self._on_node[task.node] -= 1
        job.left -= 1
        if job.left == 0:
            self._ended.append(job)

    def _arrive(self, task: TaskRun, source: int, now_s: float) -> None:
        task.owed[source] += 1
        if task.owed[source] > 0:
            task.early.append((now_s, source))
            return
        self._take_in(task, source, now_s)
        task.missing -= 1
        if task.missing > 0:
            return
        if task.through_s() > now_s:
            self._expect(task.through_s(), THROUGH, task.id, 0)
        else:
            self._wake(task, now_s)

    def _wake(self, task: TaskRun, now_s: float) -> None:
        """Let a task want its processor again, to go on with its next step."""
        self._bring(task.node, now_s)
        self._processors[task.node].deliver(task.id)
        self._note_due(task.node)

    def _ask(self, user: UserRun, now_s: float) -> None:
        self._bring(user.node, now_s)
        user.asked_s = now_s
        user.wanted_s = user.take_burst_s()
        user.beside = self._on_node[user.node]
        self._processors[user.node].compute(user.id, user.wanted_s)
        self._note_due(user.node)

    def _rest(self, processor: SharedProcessor, user: UserRun, now_s: float) -> None:
        processor.wait(user.id)
        self._on_burst(user.beside, max(0.0, now_s - user.asked_s - user.wanted_s))
        self._expect(user.next_s(now_s), BURST, user.id, 0)

    def _finish(self, job: JobRun, now_s: float) -> None:
        for task in job.tasks:
            del self._tasks[task.id]
        del self._running[job.id]
        self._balance()
        self._on_finished(job, now_s)

    def _balance(self) -> None:
        """Scale the quanta of each job's tasks to what the node gives that gives it least."""
        if not self._balances:
            return
        shares = [
            max(share, LEAST_SHARE) / max(1, tasks)
            for share, tasks in zip(self._local_shares, self._on_node, strict=True)
        ]
        for job in self._running.values():
            least = min([shares[task.node] for task in job.tasks])
            for task in job.tasks:
                if task.step < job.steps:
                    self._processors[task.node].set_weight(task.id, least / shares[task.node])
