"""Claiming: one allocation per cluster of a placement, and a barrier until all of them hold their processors.

All or none: if one claim fails, is refused or does not come in time, every other is released. Components of one job on
one cluster share an allocation, since they share its head.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, LocalResourceManager, Part
from emulator.model.errors import ClaimFailed, ClusterUnreachable, TestbedError
from emulator.model.job import Placement

CLAIM_TIMEOUT_HOST_S = 60.0


class Claims:
    """The allocations of one job: asked for, awaited and released together.

    The watchers' threads tell it of events; the job's thread waits for them.
    """

    def __init__(self, label: str, placement: Placement, managers: Sequence[LocalResourceManager]) -> None:
        self._managers: Mapping[str, LocalResourceManager] = {
            f"{label}-{cluster}": managers[cluster] for cluster in placement.by_cluster()
        }
        self._processors = {f"{label}-{cluster}": size for cluster, size in placement.by_cluster().items()}
        self._allocations: dict[str, str] = {}
        self._claimed_host_s: dict[str, float] = {}
        self._ended_host_s: dict[str, float] = {}
        self._changed = threading.Condition()
        self._abandoned = ""

    @property
    def names(self) -> list[str]:
        """The claims' names, one per cluster, in the order of the placement's components."""
        return list(self._managers)

    def ask(self) -> None:
        """Ask every cluster at once for its processors.

        Raises:
            ClaimFailed, ClusterUnreachable: if one of them refuses or does not answer.
        """
        with ThreadPoolExecutor(max_workers=len(self._managers)) as pool:
            asked = {name: pool.submit(self._ask_one, name) for name in self._managers}
        problems = [future.exception() for future in asked.values() if future.exception() is not None]
        if problems:
            raise problems[0] or ClaimFailed("A claim failed.")

    def await_all(self, on_claimed: Callable[[str, str, float], None]) -> None:
        """Wait until every allocation holds its processors; `on_claimed` gets cluster, allocation and host moment.

        Raises:
            ClaimFailed: if one ends first, does not come in time, or the job is abandoned meanwhile.
        """
        for name, manager in self._managers.items():
            with self._changed:
                in_time = self._changed.wait_for(partial(self._is_settled, name), CLAIM_TIMEOUT_HOST_S)
                if self._abandoned:
                    raise ClaimFailed(self._abandoned)
                if self._ended_host_s:
                    raise ClaimFailed(f"The allocation in cluster {self.ended_early!r} ended before the job started.")
                if not in_time:
                    raise ClaimFailed(
                        f"Cluster {manager.cluster!r} did not give {self._processors[name]} processors "
                        f"within {CLAIM_TIMEOUT_HOST_S:.0f} s."
                    )
            on_claimed(manager.cluster, self._allocations[name], self._claimed_host_s[name])

    def parts(self) -> list[Part]:
        """Where the ranks are to be started, in the order of the placement's components.

        Raises:
            ClaimFailed, ClusterUnreachable: if a cluster does not say where its processors are.
        """
        return [
            manager.part(self._allocations[name], self._processors[name]) for name, manager in self._managers.items()
        ]

    def manager_of(self, part: int) -> LocalResourceManager:
        """The local resource manager of one of `parts`."""
        return list(self._managers.values())[part]

    def abandon(self, reason: str) -> None:
        """Wake whoever waits for the claims, and release them: the job was cancelled, or a cluster was lost."""
        with self._changed:
            self._abandoned = self._abandoned or reason
            self._changed.notify_all()
        self._release_known()

    def release(self) -> None:
        """Release every allocation and wait, not for ever, until their ends are known."""
        self._release_known()
        with self._changed:
            self._changed.wait_for(lambda: set(self._claimed_host_s) <= set(self._ended_host_s), timeout=5.0)

    def note(self, event: AllocationEvent) -> None:
        """Take note of an event of one of the claims; the same event may come twice."""
        with self._changed:
            moments = self._claimed_host_s if event.kind is AllocationEventKind.CLAIMED else self._ended_host_s
            moments.setdefault(event.claim, event.host_moment_s)
            self._changed.notify_all()

    def await_early_end(self, host_wait_s: float) -> str:
        """`ended_early`, after a moment in which the news of it may still be under way."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._ended_host_s), host_wait_s)
        return self.ended_early

    @property
    def ended_early(self) -> str:
        """The cluster whose allocation of this job ended first, or nothing."""
        ended = next(iter(self._ended_host_s), None)
        return self._managers[ended].cluster if ended else ""

    def _is_settled(self, name: str) -> bool:
        return name in self._claimed_host_s or bool(self._ended_host_s) or bool(self._abandoned)

    def _ask_one(self, name: str) -> None:
        allocation = self._managers[name].claim(name, self._processors[name])
        with self._changed:
            self._allocations[name] = allocation

    def _release_known(self) -> None:
        allocations = dict(self._allocations)
        if not allocations:
            return
        with ThreadPoolExecutor(max_workers=len(allocations)) as pool:
            for name, allocation in allocations.items():
                pool.submit(self._release_one, name, allocation)

    def _release_one(self, name: str, allocation: str) -> None:
        try:
            self._managers[name].release(allocation)
        except ClusterUnreachable:
            # Its processors are gone with it; nobody can use them, and they are swept when it comes back.
            self._ended_host_s.setdefault(name, 0.0)
        except TestbedError:
            pass
