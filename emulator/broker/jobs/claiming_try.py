"""One claiming try: one allocation per cluster of a placement, and a barrier until all of them hold their processors.

All or none: if one claim fails, is refused or is not granted in time, all others are released. Components of one job in
one cluster share an allocation. Each try has its own claim names, and an event counts only if it names the allocation
that this try made: late events of an earlier try, or of a job of an earlier testbed, have no effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from emulator.broker.jobs.releases import Releases
from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, LocalResourceManager, Part
from emulator.model.counts import number_of
from emulator.model.errors import ClaimFailed, ClusterUnreachable, NotGranted, TestbedError
from emulator.model.job import Placement

RELEASE_TIMEOUT_HOST_S = 5.0
NOT_ENDED = 0.0
"""Stands for the end of an allocation that could not be released."""
Allocation = tuple[str, str]
"""A claim's name and the local manager's identifier of its allocation."""


def claim_name(label: str, number: int, cluster: str) -> str:
    """Return the name of a claim in `cluster`, for try `number` of the job called `label`."""
    return f"{label}.{number}-{cluster}"


def job_label(claim: str) -> str:
    """Return the label of the job whose claim has that name."""
    return claim.partition(".")[0]


class ClaimingTry:
    """The allocations of one try of one job: claimed, awaited and released together.

    The watchers' threads note events; the job's thread waits for them. `serve` makes the claim in a cluster when the
    cluster's head has its turn for it. `ranks` says how many processes run in each cluster, if not one on each
    processor of the placement, and `memory_mb` what each of them needs. `clocks_ahead_s` says of clusters by how many
    host seconds the clock there is ahead of the broker's.
    """

    def __init__(
        self,
        label: str,
        number: int,
        placement: Placement,
        managers: Sequence[LocalResourceManager],
        releases: Releases,
        serve: Callable[[str, Callable[[], None]], None] = lambda cluster, claim: claim(),
        ranks: Mapping[int, int] | None = None,
        memory_mb: float = 0.0,
        clocks_ahead_s: Mapping[str, float] | None = None,
    ) -> None:
        self._serve = serve
        self._clocks_ahead_s = clocks_ahead_s or {}
        self._memory_mb = memory_mb
        held = placement.by_cluster()
        sizes = {
            claim_name(label, number, managers[index].cluster): (managers[index], size) for index, size in held.items()
        }
        self._managers: Mapping[str, LocalResourceManager] = {name: manager for name, (manager, _) in sizes.items()}
        self._processors = {name: size for name, (_, size) in sizes.items()}
        self._nodes = dict(zip(sizes, map(placement.nodes_in, held), strict=True))
        self._ranks = dict(zip(sizes, (held if ranks is None else ranks).values(), strict=True))
        self._allocations: dict[str, str] = {}
        self._claimed_host_s: dict[Allocation, float] = {}
        self._ended_host_s: dict[Allocation, float] = {}
        self._changed = threading.Condition()
        self._abandoned = ""
        self._releases = releases
        self._is_over = False

    def claim_all(self) -> None:
        """Claim the processors in all clusters at once.

        Raises:
            ClaimFailed, ClusterUnreachable: if one of them refuses or does not answer.
        """
        with ThreadPoolExecutor(max_workers=len(self._managers)) as pool:
            claims = {
                name: pool.submit(self._serve, manager.cluster, partial(self._claim_one, name))
                for name, manager in self._managers.items()
            }
        problems = [future.exception() for future in claims.values() if future.exception() is not None]
        if problems:
            raise problems[0] or ClaimFailed("A claim failed.")

    def await_all(self, host_limit_s: float, on_claimed: Callable[[str, str, float], None]) -> None:
        """Wait until every allocation holds its processors; `on_claimed` gets cluster, allocation and host timestamp.

        Raises:
            NotGranted: if a cluster's other users hold the processors for longer than `host_limit_s`.
            ClaimFailed: if one ends first, or the job is abandoned meanwhile.
        """
        for name, manager in self._managers.items():
            with self._changed:
                in_time = self._changed.wait_for(partial(self._is_settled, name), host_limit_s)
                if self._abandoned:
                    raise ClaimFailed(self._abandoned)
                ended = self.ended_early
                if ended:
                    raise ClaimFailed(f"The allocation in cluster {ended!r} ended before the job started.", ended)
                if not in_time:
                    raise NotGranted(
                        f"Cluster {manager.cluster!r} did not grant {number_of(self._processors[name], 'processor')} "
                        f"within {host_limit_s:g} s of host time: others hold them.",
                        manager.cluster,
                    )
                allocation = self._allocations[name]
                claimed_host_s = self._claimed_host_s[name, allocation]
            on_claimed(manager.cluster, allocation, claimed_host_s)

    def parts(self) -> list[Part]:
        """Get where the processes are to be started, in the order of the placement's components.

        Raises:
            ClaimFailed, ClusterUnreachable: if a cluster does not say where its processors are.
        """
        return [manager.part(self._allocations[name], self._ranks[name]) for name, manager in self._managers.items()]

    def managers(self) -> list[LocalResourceManager]:
        """Get the local resource manager of each part."""
        return list(self._managers.values())

    def abandon(self, reason: str) -> None:
        """Wake the thread that waits for the claims, and release them; `reason` becomes its error."""
        with self._changed:
            self._abandoned = self._abandoned or reason
            self._changed.notify_all()
        self._release_claimed()

    def release(self) -> None:
        """Release every allocation and wait, for a limited time, until their ends are known.

        What has not ended then is released again and again in the background.
        """
        self._release_claimed()
        with self._changed:
            self._changed.wait_for(self._all_ended, RELEASE_TIMEOUT_HOST_S)
            self._is_over = True
            unreleased = [pair for pair in self._allocations.items() if not self._ended_host_s.get(pair)]
        for name, allocation in unreleased:
            self._releases.add(self._managers[name], name, allocation)

    def note_event(self, event: AllocationEvent) -> bool:
        """Take note of an event, which may come twice; returns whether it is of one of these claims.

        Once they have been released, no event is: an allocation that is granted then has no owner.
        """
        if event.claim not in self._managers:
            return False
        with self._changed:
            if self._is_over:
                return False
            timestamps = self._claimed_host_s if event.kind is AllocationEventKind.CLAIMED else self._ended_host_s
            ahead_s = self._clocks_ahead_s.get(self._managers[event.claim].cluster, 0.0)
            timestamps.setdefault((event.claim, event.allocation), event.host_moment_s - ahead_s)
            self._changed.notify_all()
        return True

    def await_early_end(self, host_wait_s: float) -> str:
        """Get `ended_early`, after waiting at most `host_wait_s` for an event that may be under way."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self.ended_early), host_wait_s)
        return self.ended_early

    @property
    def ended_early(self) -> str:
        """The cluster whose allocation of this job ended first, or an empty string."""
        ended = next((name for name, allocation in list(self._ended_host_s) if self._is_own(name, allocation)), None)
        return self._managers[ended].cluster if ended else ""

    def _is_settled(self, name: str) -> bool:
        claimed = (name, self._allocations[name]) in self._claimed_host_s
        return claimed or bool(self.ended_early) or bool(self._abandoned)

    def _all_ended(self) -> bool:
        return self._own_claims(self._claimed_host_s) <= self._own_claims(self._ended_host_s)

    def _is_own(self, name: str, allocation: str) -> bool:
        return self._allocations.get(name) == allocation

    def _own_claims(self, timestamps: Mapping[Allocation, float]) -> set[str]:
        return {name for name, allocation in timestamps if self._is_own(name, allocation)}

    def _claim_one(self, name: str) -> None:
        try:
            allocation = self._managers[name].claim(name, self._processors[name], self._nodes[name], self._memory_mb)
        except ClusterUnreachable:
            # The answer was lost, but the claim may have been made.
            self._releases.add(self._managers[name], name)
            raise
        with self._changed:
            self._allocations[name] = allocation

    def _release_claimed(self) -> None:
        allocations = dict(self._allocations)
        if not allocations:
            return
        with ThreadPoolExecutor(max_workers=len(allocations)) as pool:
            for name, allocation in allocations.items():
                pool.submit(self._release_one, name, allocation)

    def _release_one(self, name: str, allocation: str) -> None:
        try:
            self._managers[name].release(allocation)
        except TestbedError:
            # Its end is not waited for: it is released in the background.
            with self._changed:
                self._ended_host_s.setdefault((name, allocation), NOT_ENDED)
