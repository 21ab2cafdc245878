"""A decision as a plain value, and its JSON record: the event, the state, and the answers.

A record is enough to repeat the decision. An arrival holds the whole request of its job. The first decision of a
process, and every `SNAPSHOT_EVERY`-th after it, holds a snapshot of the discipline and the random numbers just before
the decision, so replay can begin there and notice a divergence. Surroundings (files, bandwidths, history) are recorded
if the policy was given any, the running jobs if the discipline reads them, and the nodes if the policy chooses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from emulator.model.errors import InvalidInput
from emulator.model.placement import Component, Placement
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, SchedulingEvent, Start, Withdrawal
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import (
    NOTHING_ELSE,
    FileState,
    NodeState,
    NodeTask,
    RunningJob,
    Surroundings,
    SystemState,
)

SNAPSHOT_EVERY: Final = 1_000
"""Number of decisions from one snapshot to the next."""

NOBODY: Final = 0
"""Job id of a synthetic departure, used where processors became idle without a job of the run departing.

The ids of jobs start at 1.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """The `number`-th decision of a process (from 0), made at the emulated timestamp `time_s` with `idle` processors.

    `waiting` is the number of waiting jobs after the decision; `snapshot` is the state of the deciders before it.
    """

    number: int
    time_s: float
    event: SchedulingEvent
    idle: tuple[int, ...]
    answers: tuple[Start | Reject, ...]
    waiting: int
    surroundings: Surroundings = NOTHING_ELSE
    snapshot: Mapping[str, Any] | None = None

    def state(self, processors: Sequence[int]) -> SystemState:
        """Return the system state that the decision was made on; `processors` are those of each cluster."""
        return SystemState(tuple(processors), self.idle, self.time_s, self.surroundings)

    @property
    def history_after(self) -> frozenset[tuple[int, int]]:
        """The history table after the decision: the one that it was made on, with what its placements add to it."""
        added = [answer.placement.learned for answer in self.answers if isinstance(answer, Start)]
        return self.surroundings.history.union(*added) if any(added) else self.surroundings.history


def decision_record(decision: Decision) -> dict[str, Any]:
    """Return `decision` as plain values, which `recorded_decision` reads."""
    record: dict[str, Any] = {
        "number": decision.number,
        "time_s": decision.time_s,
        "event": event_record(decision.event),
        "idle": list(decision.idle),
        "answers": [answer_record(answer) for answer in decision.answers],
        "waiting": decision.waiting,
    }
    if decision.surroundings != NOTHING_ELSE:
        record["surroundings"] = _surroundings_record(decision.surroundings)
    if decision.snapshot is not None:
        record["snapshot"] = dict(decision.snapshot)
    return record


def recorded_decision(record: Mapping[str, Any]) -> Decision:
    """Return the decision that a record of `decision_record` describes.

    Raises:
        InvalidInput: if a value is missing from the record, or is invalid.
    """
    try:
        return Decision(
            int(record["number"]),
            float(record["time_s"]),
            recorded_event(record["event"]),
            tuple(int(free) for free in record["idle"]),
            tuple(recorded_answer(answer) for answer in record["answers"]),
            int(record["waiting"]),
            _surroundings(record["surroundings"]) if "surroundings" in record else NOTHING_ELSE,
            record.get("snapshot"),
        )
    except KeyError as error:
        raise InvalidInput(f"a decision's record lacks {error}.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"a decision's record is not what it should be ({error}).") from error


def answer_record(answer: Start | Reject) -> dict[str, Any]:
    """Return an answer as plain values."""
    if isinstance(answer, Reject):
        return {"kind": "reject", "job": answer.job_id, "tries": answer.tries, "reason": answer.reason}
    record = {"kind": "start", "job": answer.job_id, "tries": answer.tries}
    return record | _placement_record(answer.placement)


def recorded_answer(record: Mapping[str, Any]) -> Start | Reject:
    """Return the answer that a record of `answer_record` describes."""
    if record["kind"] == "reject":
        return Reject(record["job"], record["reason"], record["tries"])
    return Start(record["job"], _placement(record), record["tries"])


def event_record(event: SchedulingEvent) -> dict[str, Any]:
    """Return an event as plain values."""
    match event:
        case Arrival(job):
            request = remembered(job)
            named = {"job": request.pop("id"), "queue": request.pop("queue", None)}
            return {"kind": "arrival", **named, "request": request}
        case Departure(job_id, placement):
            return {"kind": "departure", "job": job_id} | _placement_record(placement)
        case Withdrawal(job_id):
            return {"kind": "withdrawal", "job": job_id}
    return {"kind": "scan"}


def recorded_event(record: Mapping[str, Any]) -> SchedulingEvent:
    """Return the event that a record of `event_record` describes."""
    match record["kind"]:
        case "arrival":
            return Arrival(recalled({**record["request"], "id": record["job"], "queue": record["queue"]}))
        case "departure":
            return Departure(record["job"], _placement(record))
        case "withdrawal":
            return Withdrawal(record["job"])
        case "scan":
            return Scan()
    raise InvalidInput(f"a decision's record names an event {record['kind']!r}, which there is not.")


def _placement_record(placement: Placement) -> dict[str, Any]:
    record: dict[str, Any] = {
        "placement": [[component.cluster, component.processors] for component in placement.components]
    }
    if any(component.nodes for component in placement.components):
        record["nodes"] = [list(component.nodes) for component in placement.components]
    if placement.file_sites:
        record |= {"file_sites": list(placement.file_sites), "transfer_s": placement.transfer_s}
    if placement.learned:
        record["learned"] = sorted([cluster, site] for cluster, site in placement.learned)
    return record


def _placement(record: Mapping[str, Any]) -> Placement:
    parts = record["placement"]
    nodes = record.get("nodes") or [()] * len(parts)
    return Placement(
        tuple(Component(cluster, size, tuple(on)) for (cluster, size), on in zip(parts, nodes, strict=True)),
        tuple(record.get("file_sites", ())),
        float(record.get("transfer_s", 0.0)),
        frozenset((cluster, site) for cluster, site in record.get("learned", ())),
    )


def state_record(state: SystemState) -> dict[str, Any]:
    """Return a system state as plain values, with as much of its surroundings as a decision's record holds."""
    record: dict[str, Any] = {"processors": list(state.processors), "idle": list(state.idle), "time_s": state.time_s}
    if state.surroundings != NOTHING_ELSE:
        record["surroundings"] = _surroundings_record(state.surroundings)
    return record


def recorded_state(record: Mapping[str, Any]) -> SystemState:
    """Return the system state that a record of `state_record` describes."""
    surroundings = _surroundings(record["surroundings"]) if "surroundings" in record else NOTHING_ELSE
    return SystemState(tuple(record["processors"]), tuple(record["idle"]), record["time_s"], surroundings)


def _surroundings_record(surroundings: Surroundings) -> dict[str, Any]:
    rates = surroundings.bandwidth_bytes_per_s
    record: dict[str, Any] = {
        "files": {
            name: {"sites": list(file.sites), "size_bytes": file.size_bytes}
            for name, file in surroundings.files.items()
        },
        "bandwidth_bytes_per_s": [[site, cluster, rate] for (site, cluster), rate in sorted(rates.items())],
        "history": sorted([cluster, site] for cluster, site in surroundings.history),
    }
    if surroundings.running:
        record["running"] = [_running_record(job) for job in surroundings.running]
    if surroundings.nodes:
        record["nodes"] = [[_node_record(node) for node in of_cluster] for of_cluster in surroundings.nodes]
    return record


def _node_record(node: NodeState) -> list[Any]:
    tasks = [[task.job, task.memory_bytes, task.processor_share] for task in node.tasks]
    for_jobs = [] if node.memory_for_jobs_bytes is None else [node.memory_for_jobs_bytes]
    return [node.memory_bytes, node.most_tasks, node.local_share, node.local_memory_bytes, tasks, *for_jobs]


def _node(record: Sequence[Any]) -> NodeState:
    # Records of before do not say what memory the jobs may hold.
    memory_bytes, most_tasks, local_share, local_memory_bytes, tasks, *for_jobs = record
    return NodeState(
        memory_bytes, tuple(NodeTask(*task) for task in tasks), local_share, local_memory_bytes, most_tasks, *for_jobs
    )


def _running_record(job: RunningJob) -> dict[str, Any]:
    times = {"job": job.id, "started_s": job.started_s, "estimated_end_s": job.estimated_end_s}
    return times | _placement_record(job.placement)


def _running(record: Mapping[str, Any]) -> RunningJob:
    return RunningJob(record["job"], _placement(record), record["started_s"], record["estimated_end_s"])


def _surroundings(record: Mapping[str, Any]) -> Surroundings:
    return Surroundings(
        files={name: FileState(tuple(file["sites"]), file["size_bytes"]) for name, file in record["files"].items()},
        bandwidth_bytes_per_s={(site, cluster): rate for site, cluster, rate in record["bandwidth_bytes_per_s"]},
        history=frozenset((cluster, site) for cluster, site in record["history"]),
        running=tuple(_running(job) for job in record.get("running", ())),
        nodes=tuple(tuple(_node(node) for node in of_cluster) for of_cluster in record.get("nodes", ())),
    )
