"""A resident MPI world in the node container: a job in it takes some milliseconds, a separate `mpirun` a second.

The world is one `mpirun` of `tests/live/resident_rank.py`, started for the first job. Its ranks run the code of
`apps.run.main`, except for the start and the end of a process; tests of these use `NodeContainer.run`. If a job fails,
but not by the same error at every rank, the world ends and the next job starts a new one.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import shlex
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tests.live.node_container import ENVIRONMENT, JOB_TAKES_AT_MOST_HOST_S, MPIRUN, NodeContainer, Outcome

RANKS = 25
"""The ranks of the world, as many as the largest job of the tests has."""

STARTS_WITHIN_HOST_S = 120.0
_PROGRAM = "resident_rank.py"
_REFUSALS = ("InvalidInput", "RunFailed")

Answer = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """The error by which all ranks of a job failed."""

    kind: str
    sentence: str


@dataclass
class ResidentWorld:
    """The MPI world of a node container, the only one of this size there; jobs run in it one after another."""

    node: NodeContainer
    ranks: int = RANKS
    _connections: list[socket.socket] = field(default_factory=list)
    _streams: list[IO[str]] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None

    def run(self, processes: int, line: str) -> Outcome:
        """Run a job that must succeed; `line` is the application's name and its arguments."""
        return self._succeed(processes, arguments=shlex.split(line))

    def run_program(self, processes: int, program: str) -> Outcome:
        """Run a test's own program at every rank; it finds its `communicator` and must print events only."""
        return self._succeed(processes, program=program)

    def solution(self, processes: int, line: str) -> tuple[dict[str, Any], npt.NDArray[np.float64]]:
        """Run a job; return its record and the solution that it saved."""
        record = self.run(processes, f"{line} --save /exchange/solution.npy").record
        return record, np.load(self.node.exchange_directory / "solution.npy")

    def array(self, statements: str, expression: str) -> npt.NDArray[np.float64]:
        """Return `expression`, evaluated after `statements` in the node; numpy versions differ in last bits."""
        self.run_program(1, f"import numpy; {statements}; numpy.save('/exchange/array.npy', {expression})")
        values: npt.NDArray[np.float64] = np.load(self.node.exchange_directory / "array.npy")
        return values

    def refuse(self, processes: int, line: str) -> Refusal:
        """Run a job that must fail by the same error at every rank; return the error."""
        answers = self._answers(processes, arguments=shlex.split(line))
        failures = [answer["failure"] for answer in answers]
        assert all(failures), "The job did not fail at every rank."
        (refusal,) = {Refusal(failure["kind"], failure["sentence"]) for failure in failures}
        return refusal

    def close(self) -> None:
        """End all ranks, even in the middle of a job; the next job starts new ones."""
        if self._process is None:
            return
        for stream in (*self._streams, *self._connections):
            with contextlib.suppress(OSError):
                stream.close()
        self.node.inside(f"pkill --signal KILL --ignore-ancestors --full {self._socket_inside}")
        self._process.wait(timeout=30)
        self._process, self._streams, self._connections = None, [], []

    def _succeed(self, processes: int, **job: object) -> Outcome:
        answers = self._answers(processes, **job)
        failures = [answer["failure"]["traceback"] for answer in answers if answer["failure"]]
        assert not failures, failures[0]
        said = [json.loads(line) for line in answers[0]["output"].splitlines()]
        return Outcome(0, {event["event"]: event for event in said}, "")

    def _answers(self, processes: int, **job: object) -> list[Answer]:
        """Run a job; return the answers of its ranks, in rank order.

        Raises:
            AssertionError: if the ranks do not all fail alike, or one does not answer, or keeps something of the job.
        """
        if self._process is None:
            self._start()
        try:
            for stream in self._streams[:processes]:
                stream.write(json.dumps({"processes": processes, **job}) + "\n")
                stream.flush()
            answers = self._collect(processes)
            failures = {(answer["failure"] or {}).get("sentence") for answer in answers}
            assert len(failures) == 1, f"Not all ranks failed alike: {failures}"
        except BaseException:
            self.close()
            raise
        left = {name for answer in answers for name in answer["left"]}
        assert not left, f"The job left behind: {', '.join(sorted(left))}."
        return answers

    def _collect(self, processes: int) -> list[Answer]:
        """Return the answers of the first ranks, or raise when the first unexpected failure comes."""
        answers: dict[int, Answer] = {}
        deadline_host_s = time.monotonic() + JOB_TAKES_AT_MOST_HOST_S
        with selectors.DefaultSelector() as waiting:
            for rank in range(processes):
                waiting.register(self._connections[rank], selectors.EVENT_READ, rank)
            while len(answers) < processes:
                ready = waiting.select(max(0.0, deadline_host_s - time.monotonic()))
                assert ready, f"Only ranks {sorted(answers)} of {processes} ended in time."
                for key, _ in ready:
                    line = self._streams[key.data].readline()
                    assert line, f"Rank {key.data} has ended: {self._errors()}"
                    answers[key.data] = answer = json.loads(line)
                    failure = answer["failure"]
                    assert failure is None or failure["kind"] in _REFUSALS, failure["traceback"]
                    waiting.unregister(key.fileobj)
        return [answers[rank] for rank in range(processes)]

    def _start(self) -> None:
        folder = self.node.exchange_directory
        shutil.copy(Path(__file__).with_name(_PROGRAM), folder)
        path = folder / Path(self._socket_inside).name
        path.unlink(missing_ok=True)
        command = f"{MPIRUN} -n {self.ranks} python3 /exchange/{_PROGRAM} {self._socket_inside}"
        with socket.socket(socket.AF_UNIX) as listener, (folder / "resident.errors").open("wb") as errors:
            listener.bind(str(path))
            listener.listen(self.ranks)
            listener.settimeout(STARTS_WITHIN_HOST_S)
            self._process = subprocess.Popen(
                ["docker", "exec", *ENVIRONMENT, self.node.identity, *command.split()],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
            )  # fmt: skip
            connections: dict[int, tuple[socket.socket, IO[str]]] = {}
            try:
                while len(connections) < self.ranks:
                    connection, _ = listener.accept()
                    stream = connection.makefile("rw")
                    connections[json.loads(stream.readline())["rank"]] = (connection, stream)
            except BaseException:
                self.close()
                raise
        self._connections = [connections[rank][0] for rank in range(self.ranks)]
        self._streams = [connections[rank][1] for rank in range(self.ranks)]

    @property
    def _socket_inside(self) -> str:
        return f"/exchange/resident-{self.ranks}.sock"

    def _errors(self) -> str:
        """Return the output of mpirun and the ranks on their standard streams."""
        return (self.node.exchange_directory / "resident.errors").read_text(errors="replace")
