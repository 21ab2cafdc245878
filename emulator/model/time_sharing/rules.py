"""Time-sharing rules, by name, and the social contract between parallel jobs and the local users of a node.

All rules share the processor by quanta as Linux 2.4 did: a task uses up its counter, and when no task that wants the
processor has any left, all get a new quantum plus half of what they kept. The rules differ in what a message does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput, UnknownName

MAX_QUANTUM_S: Final = 10.0
MAX_SPIN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SharingRule:
    """A rule by which the tasks of one processor share it.

    If `wakes_first`, a woken task with a larger counter than the one that has the processor takes it at once. `spin_s`
    is the processor time for which a receiver polls before it blocks. If `boosts_receivers`, a message's arrival puts
    its receiver before all tasks that were not woken so. If `protects_local`, the social contract holds in time, and no
    parallel task takes the processor from a local one. If `balances_jobs`, the tasks of a job get quanta of the size
    that its slowest node can give.

    Raises:
        InvalidInput: if a duration is out of range.
    """

    name: str
    quantum_s: float = 0.06
    wakes_first: bool = True
    spin_s: float = 0.0
    boosts_receivers: bool = False
    protects_local: bool = False
    balances_jobs: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.quantum_s <= MAX_QUANTUM_S:
            raise InvalidInput(f"quantum_s: must lie above 0 and at most {MAX_QUANTUM_S:g}, not {self.quantum_s!r}.")
        if not 0.0 <= self.spin_s <= MAX_SPIN_S:
            raise InvalidInput(f"spin_s: must lie from 0 to {MAX_SPIN_S:g}, not {self.spin_s!r}.")


RULES: Final = {
    rule.name: rule
    for rule in (
        SharingRule("quantum", wakes_first=False),
        SharingRule("linux"),
        SharingRule("spinning", spin_s=0.005),
        SharingRule("dcs", boosts_receivers=True),
        SharingRule("ccs", boosts_receivers=True, protects_local=True, balances_jobs=True),
    )
}


@dataclass(frozen=True, slots=True)
class SocialContract:
    """The share of a node that parallel work may have while local work is present; otherwise it may have all of it.

    Raises:
        InvalidInput: if the share does not lie from 0 to 1.
    """

    parallel_share: float = 0.5

    def __post_init__(self) -> None:
        if not (math.isfinite(self.parallel_share) and 0.0 <= self.parallel_share <= 1.0):
            raise InvalidInput(
                f"parallel_share: a social contract gives parallel work from 0 to 100% of a node, "
                f"not {100 * self.parallel_share:g}%."
            )

    def memory_for_jobs(self, whole: float, of_users: float) -> float:
        """Return what parallel tasks may hold of the `whole` memory of a node whose local users hold `of_users`."""
        return min(self.parallel_share * whole, whole - of_users)


def rule_named(name: str) -> SharingRule:
    """Return the rule of that name, whatever its case.

    Raises:
        UnknownName: if there is none.
    """
    rule = RULES.get(name.lower())
    if rule is None:
        raise UnknownName.among("time-sharing rule", name, list(RULES))
    return rule
