"""Conversion of waiting jobs to plain values and back, for the snapshots of all disciplines."""

from __future__ import annotations

from inspect import signature
from typing import Any

from emulator.model.request import JobRequest, RequestKind
from emulator.policies.protocols import WaitingJob

_DEFAULTS = {name: parameter.default for name, parameter in signature(JobRequest).parameters.items() if name != "self"}
_TUPLES = ("components", "clusters")


def remembered(job: WaitingJob) -> dict[str, Any]:
    """Return a waiting job as plain values, without the request's fields that have their default."""
    record: dict[str, Any] = {"id": job.id, "kind": job.request.kind.value}
    if job.queue is not None:
        record["queue"] = job.queue
    for name, default in _DEFAULTS.items():
        value = getattr(job.request, name)
        if name != "kind" and value != default:
            record[name] = _plain(value)
    return record


def recalled(record: dict[str, Any]) -> WaitingJob:
    """Return the waiting job that a record of `remembered` describes."""
    values = {name: record[name] for name in _DEFAULTS if name in record}
    values["kind"] = RequestKind(record["kind"])
    for name in _TUPLES:
        if name in values:
            values[name] = tuple(values[name])
    if "splits" in values:
        values["splits"] = tuple(tuple(split) for split in values["splits"])
    return WaitingJob(record["id"], JobRequest(**values), record.get("queue"))


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
