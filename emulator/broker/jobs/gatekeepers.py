"""The gatekeepers of the clusters' heads: each serves the submissions of components one at a time, in order of arrival.

A submission's wait is not computed: it arises, because others are before it. While a gatekeeper serves a component the
claim for it is really made; the rest of the stated time passes by the run's clock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from emulator.model.clock import EmulatedClock
from emulator.model.errors import ClaimFailed


class Gatekeepers:
    """The gatekeepers of the heads of all `clusters`."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self._changed = threading.Condition()
        self._queues: Mapping[str, deque[JobSubmission]] = {cluster: deque() for cluster in clusters}

    def submission(self, components: Mapping[str, int], service_s: float, clock: EmulatedClock) -> JobSubmission:
        """Return the submission of a job: its number of `components` by cluster, each served for `service_s`."""
        return JobSubmission(self._queues, self._changed, components, service_s, clock)


class JobSubmission:
    """The submission of one job's components to their heads; threads of its claiming try call `serve` at once."""

    def __init__(
        self,
        queues: Mapping[str, deque[JobSubmission]],
        changed: threading.Condition,
        components: Mapping[str, int],
        service_s: float,
        clock: EmulatedClock,
    ) -> None:
        self._queues, self._changed = queues, changed
        self._components, self._service_s, self._clock = components, service_s, clock
        self._served_s: dict[str, float] = {}
        self._abandoned = False

    @property
    def served_s(self) -> float:
        """When the last of the job's components was served, in emulated seconds."""
        return max(self._served_s.values(), default=0.0)

    def serve(self, cluster: str, claim: Callable[[], None]) -> None:
        """Wait for the turn at the head of `cluster`, make the `claim`, and take as long as a gatekeeper takes.

        Raises:
            ClaimFailed: if the job is abandoned before its turn.
        """
        queue = self._queues[cluster]
        with self._changed:
            queue.append(self)
            self._changed.notify_all()
        try:
            with self._changed:
                self._changed.wait_for(lambda: queue[0] is self or self._abandoned)
                if self._abandoned:
                    raise ClaimFailed("The job was ended before its submission was served.", cluster)
            served_s = self._clock.now_s() + self._components[cluster] * self._service_s
            claim()
            self._served_s[cluster] = served_s
            with self._changed:
                self._changed.wait_for(lambda: self._abandoned, self._clock.host_remaining_s(served_s))
        finally:
            with self._changed:
                queue.remove(self)
                self._changed.notify_all()

    def abandon(self) -> None:
        """End all waiting of this job; any thread may call this."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()
