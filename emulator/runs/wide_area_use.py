"""The use of the wide area: which jobs had it to themselves, and what all jobs of a run sent over it."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.fidelity.strangers import Carried, own_bytes
from emulator.model.job import JobState
from emulator.model.views import JobView


@dataclass(slots=True)
class WideAreaUse:
    """The jobs that use the wide area: those over several clusters, and those whose input file comes over it.

    The traffic of strangers can be told from that of jobs only if everything that the jobs sent is known. What a job
    sent is known once it has finished, unless it used an input file or a real cluster. For a single job, no other may
    have used the wide area at the same time; for a whole run, what each job sent must be known.

    `jobs` have finished, `own` is what they sent and received by cluster; `is_known` tells whether that is all.
    """

    real: frozenset[str] = frozenset()
    jobs: int = 0
    own: dict[str, Carried] = field(default_factory=dict)
    is_known: bool = True
    _present: set[int] = field(default_factory=set)
    _shared: set[int] = field(default_factory=set)

    def follow(self, job: JobView) -> None:
        """Take note of the state of a job."""
        if job.placed_s is None or not _uses(job):
            self._present.discard(job.id)
            return
        if not job.state.final:
            self._present.add(job.id)
            if len(self._present) > 1:
                self._shared |= self._present
        elif job.id in self._present:
            self._present.remove(job.id)
            self._count(job)

    def own_of(self, job: JobView) -> dict[str, Carried]:
        """Return what a job sent and received by cluster; empty if unknown or if other jobs used the wide area too."""
        return {} if job.id in self._shared else self._known(job)

    def _count(self, job: JobView) -> None:
        known = self._known(job)
        self.jobs += 1
        self.is_known = self.is_known and bool(known)
        for cluster, (sent, received) in known.items():
            before = self.own.get(cluster, (0, 0))
            self.own[cluster] = (before[0] + sent, before[1] + received)

    def _known(self, job: JobView) -> dict[str, Carried]:
        clusters = list(dict.fromkeys(part.cluster for part in job.components))
        if job.state is not JobState.FINISHED or job.specification.file is not None or self.real & set(clusters):
            return {}
        return own_bytes(job.result or {}, clusters)


def _uses(job: JobView) -> bool:
    return len({part.cluster for part in job.components}) > 1 or job.specification.file is not None
