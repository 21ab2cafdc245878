"""Which jobs had the wide area to themselves, from the events of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.model.views import JobView


@dataclass(slots=True)
class WideAreaUse:
    """Follows the jobs that use the wide area: those over several clusters, and those whose input file comes over it.

    What crosses a link can be told from what strangers send only for a job that had the wide area to itself: what other
    jobs have sent is known when they have ended, and files are not counted.
    """

    _present: set[int] = field(default_factory=set)
    _shared: set[int] = field(default_factory=set)

    def follow(self, job: JobView) -> None:
        """Take note of the state of a job."""
        if job.state.final:
            self._present.discard(job.id)
        elif job.placed_s is not None and job.id not in self._present and _uses(job):
            self._present.add(job.id)
            if len(self._present) > 1:
                self._shared |= self._present

    def was_alone(self, job: JobView) -> bool:
        """Return whether only the ranks of `job` used the wide area while it was placed."""
        return job.id not in self._shared and job.specification.file is None


def _uses(job: JobView) -> bool:
    return len({part.cluster for part in job.components}) > 1 or job.specification.file is not None
