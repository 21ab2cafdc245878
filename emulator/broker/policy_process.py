"""The process in which a researcher's own policy or discipline decides, as the broker sees it.

A decision is one question and one answer over a socket, in JSON: nothing that the process sends is executed here. A
process that takes too long, ends, or sends what no answer can be is ended, and `PolicyFailed` says so in one sentence.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeVar

import emulator
from emulator.broker.foreign_json import check_depth, parse_foreign
from emulator.broker.policy_worker import POLICY_USER
from emulator.model.errors import ImpossibleRequest, InvalidInput, PolicyFailed, UnknownName
from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.views import RunRequest
from emulator.policies.custom_answers import plain_answers, plain_timestamp_s
from emulator.policies.decisions import event_record, recorded_answer, state_record
from emulator.policies.factory import accepting_fixed
from emulator.policies.names import custom_file
from emulator.policies.protocols import PlacementPolicy, Reject, SchedulingEvent, Start, WaitingJob
from emulator.policies.queues.snapshot_codec import remembered
from emulator.policies.state import SystemState
from emulator.policies.traits import PlacementTraits, QueueTraits

Value = TypeVar("Value")
HOST_S_PER_CPU_S: Final = 2.0
"""A decision may take this many host seconds, also if it sleeps, for each CPU second that it may take."""
START_LIMIT_HOST_S: Final = 30.0
"""Host seconds until Python and numpy are loaded; no source of a researcher has run then."""
LONGEST_ANSWER_BYTES: Final = 16 * 1024**2
LONGEST_SENTENCE: Final = 600
SLICE_HOST_S: Final = 0.1
_CHUNK_BYTES: Final = 1024**2
_CHANGE_USER: Final = 1 << 6 | 1 << 7
"""The capabilities CAP_SETGID and CAP_SETUID, as the kernel shows them."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_KINDS: Final[Mapping[str, type[InvalidInput]]] = {
    kind.__name__: kind for kind in (ImpossibleRequest, InvalidInput, PolicyFailed, UnknownName)
}


class PolicyProcess:
    """The process that decides for a run whose `request` names a researcher's own class.

    A component of a job takes `together` processors at a time.

    Raises:
        InvalidInput: if the class cannot be loaded or used.
        PolicyFailed: if its process ends or takes too long meanwhile.
    """

    def __init__(self, request: RunRequest, together: int = 1) -> None:
        own = dict.fromkeys(name for name in (request.queue, request.policy) if custom_file(name) is not None)
        self._name = ", ".join(own)
        self._cpu_limit_s = request.decision_limit_cpu_s
        self._ended = ""
        self._received = bytearray()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(SLICE_HOST_S)
        try:
            with theirs:
                self._process = _start(theirs)
        except OSError as error:
            self._socket.close()
            raise PolicyFailed(f"{self._name}: its process cannot be started ({error.strerror or error}).") from error
        try:
            self._receive("its start", _Deadline(self._process.pid, float("inf"), START_LIMIT_HOST_S))
            self._description = self.ask(
                "loading it",
                queue=request.queue,
                policy=request.policy,
                scanning=asdict(request.scanning),
                seed=request.seed,
                sources=request.sources,
                quota=request.quota,
                together=together,
            )
        except BaseException:
            self.close()
            raise

    @property
    def description(self) -> Mapping[str, Any]:
        """What the process said about its classes when it had loaded them."""
        return self._description

    @property
    def has_ended(self) -> bool:
        """Whether nothing can be asked any more."""
        return bool(self._ended)

    def ask(self, what: str, **request: object) -> dict[str, Any]:
        """Return the answer to a request; `what` names it in the sentence if there is none.

        Raises:
            InvalidInput: of any kind, if the researcher's code failed.
            PolicyFailed: if the process ended, took too long, or sent no answer.
        """
        if self._ended:
            raise PolicyFailed(self._ended)
        body = json.dumps({**request, "limit_s": self._cpu_limit_s}).encode() + b"\n"
        deadline = _Deadline(self._process.pid, self._cpu_limit_s, HOST_S_PER_CPU_S * self._cpu_limit_s)
        try:
            while body:
                body = body[self._send(body, what, deadline) :]
        except OSError:
            raise self._end(f"its process {self._how_it_ended()} during {what}") from None
        answer = self._receive(what, deadline)
        if "error" in answer:
            kind = _KINDS.get(str(answer.get("kind")), PolicyFailed)
            raise kind(_sentence(str(answer["error"])))
        return answer

    def read(self, answer: Mapping[str, Any], work: Callable[[Mapping[str, Any]], Value]) -> Value:
        """Return what `work` makes of an answer.

        Raises:
            PolicyFailed: if it is no answer; the process is then ended.
        """
        try:
            return work(answer)
        except (LookupError, TypeError, ValueError, AttributeError, InvalidInput) as error:
            raise self._end(f"its answer cannot be used ({type(error).__name__}: {error})") from None

    def close(self) -> None:
        """End the process."""
        self._ended = self._ended or f"{self._name}: its process has been ended."
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def _send(self, body: bytes, what: str, deadline: _Deadline) -> int:
        while True:
            try:
                return self._socket.send(body)
            except TimeoutError:
                self._check(deadline, what)

    def _receive(self, what: str, deadline: _Deadline) -> dict[str, Any]:
        while b"\n" not in self._received[-_CHUNK_BYTES:]:
            try:
                chunk = self._socket.recv(_CHUNK_BYTES)
            except TimeoutError:
                chunk = None
            except OSError:
                chunk = b""
            if chunk == b"":
                raise self._end(f"its process {self._how_it_ended()} during {what}")
            self._received += chunk or b""
            if len(self._received) > LONGEST_ANSWER_BYTES:
                raise self._end(f"its answer has more than {LONGEST_ANSWER_BYTES / 1024**2:g} MiB")
            self._check(deadline, what)
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return self.read({"line": line}, _object)

    def _check(self, deadline: _Deadline, what: str) -> None:
        over = deadline.exceeded()
        if over:
            raise self._end(f"{what} took more than {over}")

    def _end(self, reason: str) -> PolicyFailed:
        """End the process; returns the error that says why."""
        self._ended = _sentence(f"{self._name}: {reason}, so its process was ended.")
        self.close()
        return PolicyFailed(self._ended)

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "hung up"
        return f"ended ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


class _Deadline:
    """The CPU and host seconds that a process has left; a time for which this one was stopped itself hardly counts."""

    def __init__(self, pid: int, cpu_limit_s: float, host_limit_s: float) -> None:
        self._pid = pid
        self._cpu_limit_s = cpu_limit_s
        self._host_limit_s = host_limit_s
        self._cpu_before_s = _cpu_s(pid)
        self._seen_host_s = time.monotonic()
        self._waited_host_s = 0.0

    def exceeded(self) -> str:
        """Return the limit that is exceeded, or an empty string."""
        now_host_s = time.monotonic()
        self._waited_host_s += min(now_host_s - self._seen_host_s, 2 * SLICE_HOST_S)
        self._seen_host_s = now_host_s
        if _cpu_s(self._pid) - self._cpu_before_s > self._cpu_limit_s:
            return f"{self._cpu_limit_s:g} s of CPU"
        return f"{self._host_limit_s:g} s" if self._waited_host_s > self._host_limit_s else ""


class OwnDeciders:
    """Deciders whose discipline and policy, at least one of them a researcher's own, are in `process`."""

    def __init__(self, process: PolicyProcess) -> None:
        self._process = process
        self.discipline = _QueueMirror()
        process.read(process.description, self.discipline.update)

    @property
    def needs_running_jobs(self) -> bool:
        """Whether the discipline or the policy reads the running jobs and their estimated ends."""
        return self.discipline.needs_running_jobs

    def decide(self, event: SchedulingEvent, state: SystemState) -> Sequence[Start | Reject]:
        """Return the discipline's answers to `event`."""
        answer = self._process.ask("a decision", do="decide", event=event_record(event), state=state_record(state))
        self._process.read(answer, self.discipline.update)
        return self._process.read(
            answer, lambda said: plain_answers([recorded_answer(each) for each in said["answers"]])
        )

    def snapshot(self) -> dict[str, Any]:
        """Return all internal state that the next decision depends on, as plain values for `restore`."""
        return self._process.read(
            self._process.ask("a snapshot", do="snapshot"), lambda answer: _storable(dict(answer["snapshot"]))
        )

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        answer = self._process.ask("restoring it", do="restore", snapshot=snapshot)
        self._process.read(answer, self.discipline.update)


class _QueueMirror:
    """The queue of the discipline in the process, as of its last answer."""

    def __init__(self) -> None:
        self._waiting: list[int] = []
        self._next_scan_s: float | None = None
        self._tries: dict[int, int] = {}
        self.needs_running_jobs = False

    def update(self, answer: Mapping[str, Any]) -> None:
        """Take over the queue from an answer."""
        self._waiting = [int(job) for job in answer["waiting"]]
        self._next_scan_s = plain_timestamp_s(answer["next_scan_s"])
        self._tries = {int(job): int(tries) for job, tries in answer["tries"]}
        self.needs_running_jobs = bool(answer["needs_running_jobs"])

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in the order in which they would be tried."""
        return self._waiting

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next scan, or None."""
        return self._next_scan_s

    def tries(self) -> Mapping[int, int]:
        """Return the placement tries of waiting jobs, if the discipline counts them."""
        return self._tries


class OwnAdmission:
    """The discipline and policy in `process` as the admission of a run sees them."""

    def __init__(self, process: PolicyProcess, quota: float | None, together: int = 1) -> None:
        self.discipline = _AskedDiscipline(process)
        policy = process.read(process.description, _AskedPolicy)
        self.policy: PlacementPolicy = accepting_fixed(policy, quota, together)


class _AskedDiscipline:
    def __init__(self, process: PolicyProcess) -> None:
        self._process = process
        self.traits = process.read(process.description, _stated_traits)

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start if it were the only job.

        If the process has ended, this cannot be asked: the job is taken, and fails with its run.
        """
        if self._process.has_ended:
            return True
        what = "the question whether a job could start"
        answer = self._process.ask(what, do="could_start", job=remembered(job), state=state_record(state))
        return self._process.read(answer, lambda said: bool(said["could_start"]))


class _AskedPolicy:
    def __init__(self, description: Mapping[str, Any]) -> None:
        self.accepts = frozenset(RequestKind(kind) for kind in description["accepts"])
        self.traits = PlacementTraits(chooses_nodes=bool(description["chooses_nodes"]))

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Do nothing: this is never called, because the discipline answers for the policy."""
        raise PolicyFailed("A policy in a process of its own is asked through its discipline only.")


def _stated_traits(description: Mapping[str, Any]) -> QueueTraits:
    return QueueTraits(**{trait: bool(stated) for trait, stated in description["traits"].items()})


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(emulator.__path__[0]).parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        # The process may have no threads: numpy would start some for its linear algebra.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "emulator.broker.policy_worker"],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd="/",
        start_new_session=True,
        **_other_user(),
    )


def _other_user() -> dict[str, Any]:
    """Return how a process is started as another user where a capability allows it; root's process does it itself."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = int(status.partition("CapEff:")[2].split()[0], base=16)
    if os.geteuid() == 0 or effective & _CHANGE_USER != _CHANGE_USER:
        return {}
    return {"user": POLICY_USER, "group": POLICY_USER, "extra_groups": []}


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used; zero if it has ended."""
    try:
        # The name in parentheses may hold spaces.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _object(answer: Mapping[str, Any]) -> dict[str, Any]:
    value = parse_foreign(answer["line"], may_be_infinite=True)
    if not isinstance(value, dict):
        raise TypeError("it is no object")
    return value


def _storable(snapshot: dict[str, Any]) -> dict[str, Any]:
    check_depth(snapshot)
    return snapshot


def _sentence(text: str) -> str:
    """Return text from the process on one line, printable and not longer than a sentence needs."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return plain if len(plain) <= LONGEST_SENTENCE else f"{plain[: LONGEST_SENTENCE - 4]} ..."
