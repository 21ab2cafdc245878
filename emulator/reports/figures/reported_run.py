"""A run as a report shows it: its timelines, its figures, and the label that tells it from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from emulator.reports.summary import Summary, summarize
from emulator.runs.timelines import Timelines, read_timelines


@dataclass(frozen=True)
class ReportedRun(Timelines):
    """A run under the label that a report gives it."""

    label: str = ""

    @cached_property
    def summary(self) -> Summary:
        """The figures of the run that the tables show."""
        return summarize(self.records)


def reported_run(path: Path, label: str | None = None) -> ReportedRun:
    """Read the run in `path` for a report.

    Raises:
        InvalidInput: as `read_timelines`.
    """
    read = read_timelines(path)
    return ReportedRun(read.records, read.jobs, read.components, read.background, read.parts, label or path.name)


def labels_of(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path: that of its folder, with as many of the folders above as make it unique.

    A folder that is given several times gets numbers.
    """
    resolved = [path.resolve().parts for path in paths]
    folders, depth = set(resolved), 1
    while len({_ending(parts, depth) for parts in folders}) < len(folders):
        depth += 1
    labels: list[str] = []
    for place, parts in enumerate(resolved):
        number = f" ({resolved[: place + 1].count(parts)})" if resolved.count(parts) > 1 else ""
        labels.append(f"{_ending(parts, depth)}{number}")
    return labels


def _ending(parts: Sequence[str], depth: int) -> str:
    return "/".join(parts[-depth:])
