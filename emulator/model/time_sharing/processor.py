"""One processor shared by parallel tasks and local ones: who has it, from when until when.

The driver states what each task wants: `compute` (processor time), `receive` (a message that has not arrived yet) or
`wait` (nothing). `deliver` tells that the awaited message has arrived; a receive is over when the task has the
processor again. Between such calls the driver goes to `next_s`, the next timestamp at which something changes by
itself, with `advance`, which returns the task whose wish was fulfilled there. The task still holds the processor, and
goes on without losing it if its next wish, stated at the same timestamp, is to compute.

**Quanta.** Every task has a counter of processor time. The processor stays with a task until it waits, its counter is
used up, or a woken task comes before it: a boosted one or, unless the rule says otherwise, one whose counter is larger.
Of all tasks that want the processor, the first boosted one is next, else the one with the largest counter, else the one
that had it longest ago. If no task that wants it has any counter left, an epoch begins: each counter becomes half of
itself plus the task's quantum, so a task that waits keeps up to two quanta.

**Contract.** Under a rule that protects local users, parallel and local tasks are two pools with epochs of their own.
While both want the processor they take turns. A local turn is one quantum of local processor time. It earns the
parallel tasks the time that the contract leaves them, and their turn ends when that is used up. If no local task wanted
the processor, one that begins to want it gets it at once, and nothing earned before counts. So at every timestamp the
parallel tasks have had at most their share of the time since local work has been present.

Times are worked out when something changes, never in steps; a processor with one task has no events but that task's.
"""

from __future__ import annotations

import math
from typing import Final, final

from emulator.model.errors import InvalidInput
from emulator.model.time_sharing.rules import SharingRule, SocialContract
from emulator.model.time_sharing.task import COMPUTING, POLLING, WAITING, Task, comes_before

NEVER: Final = math.inf
NOBODY: Final = -1

WISH_MET: Final = 0
COUNTER_USED: Final = 1
TURN_OVER: Final = 2
POLLED_ENOUGH: Final = 3


@final
class SharedProcessor:
    """A processor under `rule`, from timestamp `now_s` on; `contract` matters where the rule protects local users."""

    def __init__(self, rule: SharingRule, contract: SocialContract, now_s: float = 0.0) -> None:
        share = contract.parallel_share
        self._quantum_s: float = rule.quantum_s
        self._wakes_first: bool = rule.wakes_first
        self._spin_s: float = rule.spin_s
        self._boosts: bool = rule.boosts_receivers
        self._pools: bool = rule.protects_local and share < 1.0
        self._earns: float = share / (1.0 - share) if self._pools else 0.0
        self._tasks: list[Task] = []
        self._by_id: dict[int, Task] = {}
        self._running: Task | None = None
        self._order: int = 0
        self._now_s: float = now_s
        self._due_s: float = NEVER
        self._due: int = WISH_MET
        self._settled: bool = True
        self._local_turn: bool = True
        self._turn_left_s: float = 0.0
        self._credit_s: float = 0.0
        self._local_wanting: int = 0
        self._parallel_wanting: int = 0
        self.local_s: float = 0.0
        self.parallel_s: float = 0.0

    @property
    def now_s(self) -> float:
        """The timestamp up to which this processor has been advanced."""
        return self._now_s

    def add(self, id: int, *, local: bool = False, weight: float = 1.0) -> None:
        """Add a task that waits; `weight` scales its quantum.

        Raises:
            InvalidInput: if there is such a task, or the weight is not positive.
        """
        if id in self._by_id:
            raise InvalidInput(f"Task {id} is on this processor already.")
        _check_weight(weight)
        task = Task(id, local, weight, weight * self._quantum_s)
        self._tasks.append(task)
        self._by_id[id] = task

    def remove(self, id: int) -> None:
        """Remove a task, whatever it wants."""
        task = self._task(id)
        self._stop_wanting(task)
        self._tasks.remove(task)
        del self._by_id[id]

    def set_weight(self, id: int, weight: float) -> None:
        """Scale the quanta that a task gets from its next epoch on.

        Raises:
            InvalidInput: if the weight is not positive.
        """
        _check_weight(weight)
        self._task(id).weight = weight

    def compute(self, id: int, processor_s: float) -> None:
        """Let a task want `processor_s` of processor time; it must not want any now.

        Raises:
            InvalidInput: if it does, or the time is negative or not finite.
        """
        if not 0.0 <= processor_s < NEVER:
            raise InvalidInput(f"processor_s: must be finite and not negative, not {processor_s!r}.")
        task = self._task(id)
        if task.state != WAITING:
            raise InvalidInput(f"Task {id} wants the processor already.")
        self._want(task, processor_s, False)

    def receive(self, id: int) -> None:
        """Let a task wait for a message; under a rule that spins it polls first, if it holds the processor."""
        task = self._task(id)
        if self._spin_s > 0.0 and task is self._running and task.state == WAITING and not task.local:
            self._want(task, self._spin_s, False)
            task.state = POLLING
        else:
            self._stop_wanting(task)

    def wait(self, id: int) -> None:
        """Let a task wait until the driver states another wish."""
        self._stop_wanting(self._task(id))

    def deliver(self, id: int) -> None:
        """Tell a task that receives that its message has arrived: it wants the processor to go on."""
        task = self._task(id)
        if task.state == POLLING:
            task.state = COMPUTING
            task.left_s = 0.0
            self._settled = False
        elif task.state == WAITING:
            self._want(task, 0.0, self._boosts)

    def next_s(self) -> float:
        """Get the next timestamp at which something changes by itself; infinite if nothing does."""
        if not self._settled:
            self._settle()
        return self._due_s

    def advance(self, to_s: float) -> int:
        """Go on to `to_s`, at most `next_s`; return the task whose wish has been met then, or `NOBODY`.

        Raises:
            InvalidInput: if `to_s` lies before the present or after `next_s`.
        """
        due_s = self.next_s()
        if not self._now_s <= to_s <= due_s:
            raise InvalidInput(f"A processor at {self._now_s!r} cannot go to {to_s!r}: its next event is at {due_s!r}.")
        running = self._running
        if running is None:
            self._now_s = to_s
            return NOBODY
        self._give(running, to_s - self._now_s)
        self._now_s = to_s
        if to_s < due_s:
            return NOBODY
        self._settled = False
        if self._due == WISH_MET:
            running.left_s = 0.0
            self._end_wish(running)
            return running.id
        if self._due == POLLED_ENOUGH:
            self._stop_wanting(running)
        elif self._due == COUNTER_USED:
            running.counter_s = 0.0
            running.boost = 0
        else:
            self._end_turn()
        return NOBODY

    def given_s(self, id: int) -> float:
        """Return the processor time that a task has had, polling included."""
        return self._task(id).given_s

    def tasks(self) -> list[int]:
        """Return the tasks on this processor, in order of entry."""
        return [task.id for task in self._tasks]

    def _task(self, id: int) -> Task:
        task = self._by_id.get(id)
        if task is None:
            raise InvalidInput(f"Task {id} is not on this processor.")
        return task

    def _want(self, task: Task, processor_s: float, boosted: bool) -> None:
        """Let a waiting task want the processor; one that holds it goes on, any other is woken."""
        task.state = COMPUTING
        task.left_s = processor_s
        self._settled = False
        if task.local:
            self._local_wanting += 1
        else:
            self._parallel_wanting += 1
        # Where the holder goes on with another wish, local work has been present all the time.
        if self._pools and task.local and self._local_wanting == 1 and task is not self._running:
            self._begin_presence()
        if task is self._running:
            return
        if boosted and task.counter_s > 0.0:
            self._order += 1
            task.boost = self._order
        running = self._running
        if running is None or (self._pools and running.local != task.local):
            return
        larger = self._wakes_first and task.counter_s > running.counter_s
        if running.boost == 0 and (task.boost > 0 or larger):
            self._release(running)

    def _end_wish(self, task: Task) -> None:
        """Let a task want nothing, but hold the processor until its next wish is known."""
        if task.state == WAITING:
            return
        task.state = WAITING
        if task.local:
            self._local_wanting -= 1
        else:
            self._parallel_wanting -= 1

    def _stop_wanting(self, task: Task) -> None:
        self._end_wish(task)
        task.boost = 0
        if task is self._running:
            self._release(task)
        self._settled = False

    def _release(self, task: Task) -> None:
        self._order += 1
        task.last = self._order
        self._running = None
        self._settled = False

    def _begin_presence(self) -> None:
        self._local_turn = True
        self._turn_left_s = self._quantum_s
        self._credit_s = 0.0

    def _end_turn(self) -> None:
        if self._local_turn:
            self._turn_left_s = 0.0
            self._local_turn = False
        else:
            self._credit_s = 0.0
            self._begin_local_turn()

    def _begin_local_turn(self) -> None:
        self._local_turn = True
        self._turn_left_s = self._quantum_s

    def _give(self, task: Task, duration_s: float) -> None:
        """Account for `duration_s` in which a task had the processor."""
        task.given_s += duration_s
        task.left_s = max(0.0, task.left_s - duration_s)
        if duration_s < task.counter_s:
            task.counter_s -= duration_s
        elif self._is_alone(task):
            self._pass_epochs(task, duration_s - task.counter_s)
        else:
            task.counter_s = 0.0
            task.boost = 0
        if task.local:
            self.local_s += duration_s
            if self._pools:
                self._turn_left_s = max(0.0, self._turn_left_s - duration_s)
                self._credit_s = min(self._credit_s + duration_s * self._earns, self._quantum_s * self._earns)
        else:
            self.parallel_s += duration_s
            if self._pools and self._local_wanting > 0:
                self._credit_s = max(0.0, self._credit_s - duration_s)

    def _pass_epochs(self, task: Task, duration_s: float) -> None:
        """Let the epochs pass that a task alone began since its counter was used up, `duration_s` ago."""
        own_s = task.weight * self._quantum_s
        later = math.floor(duration_s / own_s)
        kept = 0.5 ** (later + 1)
        for other in self._tasks:
            if other is not task and self._in_one_pool(other, task):
                full_s = 2.0 * other.weight * self._quantum_s
                other.counter_s = full_s + (other.counter_s - full_s) * kept
        task.counter_s = own_s - (duration_s - later * own_s)
        task.boost = 0

    def _begin_epoch(self, local: bool) -> None:
        for task in self._tasks:
            if not self._pools or task.local == local:
                task.counter_s = 0.5 * task.counter_s + task.weight * self._quantum_s

    def _in_one_pool(self, one: Task, other: Task) -> bool:
        return not self._pools or one.local == other.local

    def _is_alone(self, task: Task) -> bool:
        """Return whether no other task of its pool wants the processor, so that no quantum ends."""
        if self._pools:
            return (self._local_wanting if task.local else self._parallel_wanting) == 1
        return self._local_wanting + self._parallel_wanting == 1

    def _settle(self) -> None:
        """Choose who has the processor, and when that may change."""
        self._settled = True
        if self._local_wanting + self._parallel_wanting == 0:
            if self._running is not None:
                self._release(self._running)
                self._settled = True
            self._due_s = NEVER
            return
        contended = self._pools and self._local_wanting > 0 and self._parallel_wanting > 0
        if not contended and not self._local_turn:
            # The parallel tasks gave their turn up.
            self._begin_local_turn()
        pool_local = self._local_wanting > 0 and (self._parallel_wanting == 0 or self._local_has_turn())
        running = self._running
        if running is None or not self._may_go_on(running, pool_local):
            if running is not None:
                self._release(running)
            running = self._next_task(pool_local)
            self._running = running
            self._settled = True
        self._note_due(running, contended)

    def _local_has_turn(self) -> bool:
        """Return whether local tasks go first while both kinds want the processor."""
        if self._local_turn:
            if self._turn_left_s > 0.0 or self._credit_s <= 0.0:
                return True
            self._local_turn = False
            return False
        if self._credit_s > 0.0:
            return False
        self._begin_local_turn()
        return True

    def _may_go_on(self, running: Task, pool_local: bool) -> bool:
        if running.state == WAITING or (self._pools and running.local != pool_local):
            return False
        return running.counter_s > 0.0 or self._is_alone(running)

    def _next_task(self, pool_local: bool) -> Task:
        best = self._best(pool_local)
        if best is None:
            self._begin_epoch(pool_local)
            best = self._best(pool_local)
        assert best is not None
        return best

    def _best(self, pool_local: bool) -> Task | None:
        """Return the task that is next, of those with a counter; None if none has one."""
        best: Task | None = None
        for task in self._tasks:
            if task.state == WAITING or task.counter_s <= 0.0 or (self._pools and task.local != pool_local):
                continue
            if best is None or comes_before(task, best):
                best = task
        return best

    def _note_due(self, running: Task, contended: bool) -> None:
        self._due = POLLED_ENOUGH if running.state == POLLING else WISH_MET
        least_s = running.left_s
        if not self._is_alone(running) and running.counter_s < least_s:
            least_s = running.counter_s
            self._due = COUNTER_USED
        if contended:
            turn_s = self._turn_s(running)
            if turn_s < least_s:
                least_s = turn_s
                self._due = TURN_OVER
        self._due_s = self._now_s + least_s

    def _turn_s(self, running: Task) -> float:
        """Return how long the turn of this task's pool lasts."""
        if not running.local:
            return self._credit_s
        return self._turn_left_s if self._earns > 0.0 else NEVER


def _check_weight(weight: float) -> None:
    if not 0.0 < weight < NEVER:
        raise InvalidInput(f"weight: must be positive and finite, not {weight!r}.")
