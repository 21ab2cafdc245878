"""A run as a log in the Grid Workload Format, that of the Grid Workloads Archive: SWF's numbers and a grid's names.

Its first eleven fields are those of the Standard Workload Format, the others are names and lists, 29 in all; a value
that is not known is -1. Fields that SWF lacks are used: the executable is the application's name, the site of a
job's last run is the cluster that it executed on (several are joined by ``+``, which no name of a cluster holds), and
the resources used are processors by cluster, in the order of the job's components. Times are emulated seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from emulator.model.records import JobRow
from emulator.reports.exports.jobs_in_order import jobs_in_order
from emulator.reports.exports.placed_parts import Parts, placed_parts
from emulator.reports.exports.swf import swf_log
from emulator.runs.run_directory import RunRecords
from workloads.swf import MISSING

FIELDS: Final = (
    "JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "UsedCPUTime", "UsedMemory", "ReqNProcs", "ReqTime",
    "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID", "QueueID", "PartitionID", "OrigSiteID", "LastRunSiteID",
    "JobStructure", "JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources", "ReqPlatform",
    "ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID",
)  # fmt: skip
JOB_OF_ITS_OWN: Final = "UNITARY"
"""The structure of a job that is part of no bag or graph of jobs."""

_AS_IN_SWF: Final = FIELDS.index("Status") + 1
_UNKNOWN: Final = str(MISSING)


def gwf_lines(run: RunRecords) -> Iterator[str]:
    """Yield the log of `run`: a header of comments, then a line for each job in order of submission.

    Raises:
        InvalidInput: if the run has no jobs, or was resumed.
    """
    header, records = swf_log(run)
    shared = [line for line in header if line.startswith(("Computer", "Note"))]
    for line in ("Grid Workload Format", *shared, "Fields: " + " ".join(FIELDS)):
        yield f"# {line}"
    jobs = jobs_in_order(run)
    parts = placed_parts(jobs, run.components)
    for job, record in zip(jobs, records, strict=True):
        named = _names(job, parts[job.job])
        yield "\t".join([*record.cells()[:_AS_IN_SWF], *(named.get(field, _UNKNOWN) for field in FIELDS[_AS_IN_SWF:])])


def _names(job: JobRow, parts: Parts) -> dict[str, str]:
    """Return the known fields that SWF does not have."""
    requested = zip(job.requested_clusters, job.components, strict=True) if job.requested_clusters else ()
    return {
        "ExecutableID": job.application,
        "LastRunSiteID": "+".join(dict.fromkeys(job.execution_clusters)) or _UNKNOWN,
        "JobStructure": JOB_OF_ITS_OWN,
        "UsedResources": _by_cluster(part for part in parts if part[0]),
        "ReqResources": _by_cluster(requested),
    }


def _by_cluster(parts: Iterable[tuple[str, int]]) -> str:
    """Return the processors of each component by its cluster, where they are known."""
    return ",".join(f"{cluster}:{size}" for cluster, size in parts) or _UNKNOWN
