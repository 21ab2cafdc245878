"""``python -m emulator.broker.policy_worker``: a researcher's own policy or discipline, in a process of its own.

`policy_process` starts it and talks to it over standard input, a socket: one JSON object a line each way. Before it
loads the researcher's source it gives up all rights: another user if root started it (else it is one already, if the
broker may change users), no new privileges, no process beside itself, limits on memory, files and CPU. Nothing that the
source writes to standard output is an answer.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import emulator.model.job  # noqa: F401 (for the researcher's source, which may not read every folder)
from emulator.model.errors import PolicyFailed, TestbedError
from emulator.model.scheduling import Scanning
from emulator.policies.custom_code import RAISED
from emulator.policies.decisions import answer_record, recorded_event, recorded_state
from emulator.policies.factory import deciders
from emulator.policies.queues.snapshot_codec import recalled
from emulator.policies.traits import traits_of_placement, traits_of_queue

POLICY_USER: Final = 64_999
"""User and group of the process, if the broker may change users; nothing in the broker's container belongs to them."""
MEMORY_BYTES: Final = 2 * 1024**3
FILE_BYTES: Final = 1024**2
MOST_FILES: Final = 64
PR_SET_NO_NEW_PRIVS: Final = 38


class Worker:
    """The deciders of a run, and a second set of them that is only asked whether jobs could start."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        queue, policy = request["queue"], request["policy"]
        limits = (request["sources"], request["quota"], request["together"])
        self._deciders = deciders(queue, policy, Scanning(**request["scanning"]), request["seed"], *limits)
        self._admission = deciders(queue, policy, Scanning(), 0, *limits)
        self._traits = traits_of_queue(self._admission.discipline)

    def description(self) -> dict[str, Any]:
        """Return what never changes, and the queue as it is."""
        return {
            "accepts": sorted(self._admission.policy.accepts),
            "traits": asdict(self._traits),
            "chooses_nodes": traits_of_placement(self._admission.policy).chooses_nodes,
            **self._queue(),
        }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one request."""
        match request["do"]:
            case "decide":
                event, state = recorded_event(request["event"]), recorded_state(request["state"])
                answers = [answer_record(answer) for answer in self._deciders.decide(event, state)]
                return {"answers": answers, **self._queue()}
            case "snapshot":
                return {"snapshot": self._deciders.snapshot()}
            case "restore":
                self._deciders.restore(request["snapshot"])
                return self._queue()
            case "could_start":
                return {"could_start": self._could_start(request)}
        raise PolicyFailed(f"The policy's process was asked to {request['do']!r}, which it cannot do.")

    def _queue(self) -> dict[str, Any]:
        discipline = self._deciders.discipline
        tries = discipline.tries() if hasattr(discipline, "tries") else {}
        return {
            "waiting": list(discipline.waiting()),
            "next_scan_s": discipline.next_scan_s(),
            "needs_running_jobs": self._deciders.needs_running_jobs,
            "tries": list(tries.items()),
        }

    def _could_start(self, request: Mapping[str, Any]) -> bool:
        discipline: Any = self._admission.discipline
        policy = self._admission.policy
        job, state = recalled(request["job"]), recorded_state(request["state"])
        if self._traits.has_could_start:
            return bool(discipline.could_start(job, state, policy))
        return policy.place(job.request, state) is not None


def give_up_rights() -> None:
    """Become another user if this is root, and set limits that only root could lift."""
    os.chdir("/")
    os.umask(0o077)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(POLICY_USER, POLICY_USER, POLICY_USER)
        os.setresuid(POLICY_USER, POLICY_USER, POLICY_USER)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    for limited, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, MOST_FILES),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limited, (most, most))


def _limit_cpu(limit_s: float) -> None:
    """Have the kernel end this process soon after its limit, in case the broker is gone."""
    used_s = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used_s + limit_s) + 2, resource.RLIM_INFINITY))


def _take_socket() -> socket.socket:
    """Return the connection that is standard input, and leave nothing there or at standard output."""
    connection = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    os.close(nothing)
    return connection


def _requests(connection: socket.socket) -> Iterator[dict[str, Any]]:
    with connection.makefile("rb") as lines:
        for line in lines:
            yield json.loads(line)


def _send(connection: socket.socket, answer: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")


def main() -> None:
    """Answer requests until the other side hangs up."""
    connection = _take_socket()
    give_up_rights()
    _send(connection, {"ready": True})
    worker: Worker | None = None
    for request in _requests(connection):
        _limit_cpu(request["limit_s"])
        try:
            if worker is None:
                worker = Worker(request)
                answer = worker.description()
            else:
                answer = worker.answer(request)
            _send(connection, answer)
        except TestbedError as error:
            _send(connection, {"error": str(error), "kind": type(error).__name__})
        except RAISED as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            _send(connection, {"error": f"The policy's process failed ({said}).", "kind": PolicyFailed.__name__})


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyboardInterrupt) as error:
        sys.exit(f"policy: {error}")
