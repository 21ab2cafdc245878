"""The bursts of local users during a run: how long each was delayed by the tasks beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from emulator.model.clock import EmulatedClock
from emulator.model.errors import RunFailed
from emulator.model.records import LocalBurstRow
from emulator.runs.holding import Testbed
from emulator.runs.recording import Recorder


@dataclass(slots=True)
class _Recording:
    """The recording of bursts into a run's directory, from the start of the run's clock on.

    `host_clocks_ahead_s` says of clusters by how many host seconds the clock there is ahead of the run's.
    """

    recorder: Recorder
    host_clocks_ahead_s: Mapping[str, float]
    clock: EmulatedClock | None = None
    lost: list[str] = field(default_factory=list)

    def begin(self, clock: EmulatedClock) -> None:
        """Begin, by the clock of the run."""
        self.clock = clock

    def note(self, cluster: str, line: str | None) -> None:
        """Record a burst; bursts before the run's clock started are none of the run."""
        if line is None:
            self.lost.append(cluster)
            return
        if self.clock is None:
            return
        host_end_moment_s, node, beside, processor_s, delay_s = line.split()
        host_ahead_s = self.host_clocks_ahead_s.get(cluster, 0.0)
        time_s = self.clock.emulated_timestamp_s(float(host_end_moment_s) - host_ahead_s)
        self.recorder.directory.append(
            LocalBurstRow(
                time_s=time_s, cluster=cluster, node=node, beside=int(beside), processor_s=float(processor_s),
                delay_s=float(delay_s),
            )
        )  # fmt: skip

    def check(self) -> None:
        """Raise `RunFailed` if local users are not followed any more."""
        for cluster in self.lost:
            raise RunFailed(f"The local users of cluster {cluster!r} are not followed any more: their arbiter ended.")


@contextmanager
def bursts_recorded(
    testbed: Testbed, recorder: Recorder, host_clocks_ahead_s: Mapping[str, float]
) -> Iterator[Callable[[], None]]:
    """Record the bursts of the testbed's local users inside the context; yield a check, to be made often.

    `host_clocks_ahead_s` says of clusters by how many host seconds the clock there is ahead of this one.
    """
    clusters = [cluster.name for cluster in testbed.topology.clusters if cluster.local_users]
    if not clusters or testbed.local_bursts is None:
        yield lambda: None
        return
    recording = _Recording(recorder, host_clocks_ahead_s)
    recorder.bursts = recording
    with testbed.local_bursts(clusters, recording.note):
        yield recording.check
    recorder.bursts = None
