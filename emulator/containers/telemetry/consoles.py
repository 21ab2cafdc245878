"""A command kept open in a container, so that repeating it costs a fraction of executing it anew.

The command reads a line for each question. It ends with its input: when the console is closed or its process ends.
"""

from __future__ import annotations

import select
import struct
from dataclasses import dataclass, field
from typing import Any, Final, Self

from docker.models.containers import Container

from emulator.containers.engine import ENGINE_ERRORS
from emulator.model.errors import TestbedNotUp

PATIENCE_HOST_S: Final = 10.0
"""Longest wait for an answer, in host seconds: even a busy router's guest takes less."""

_END: Final = b"\n--end of answer--\n"
_FRAME: Final = struct.Struct(">BxxxL")
_CHUNK_BYTES: Final = 65536


@dataclass
class Console:
    """One open command; `ask` and `answer` may be apart, so that several consoles work at the same time."""

    container: str
    _socket: Any
    _response: Any
    _received: bytearray = field(default_factory=bytearray)

    @classmethod
    def opened(cls, container: Container, command: str, before: str = ":", after: str = ":") -> Self:
        """Open a console in `container` that answers with the output of the shell's `command`.

        The shell runs `before` first, and `after` when the console is closed.

        Raises:
            TestbedNotUp: if the container does not run, or the engine lends no console to its clients.
        """
        end = _END.decode().encode("unicode_escape").decode()
        loop = f"{before}\nwhile read -r _; do {command}; printf '{end}'; done\n{after}"
        try:
            api = container.client.api
            made = api.exec_create(container.id, ["sh", "-c", loop], stdin=True, stdout=True, stderr=False)
            response = api.exec_start(made["Id"], socket=True)
        except ENGINE_ERRORS as error:
            raise TestbedNotUp(f"The container {container.name} lends no console ({error}).") from error
        return cls(str(container.name), getattr(response, "_sock", response), response)

    def ask(self) -> None:
        """Ask without waiting for the answer.

        Raises:
            TestbedNotUp: if the command has ended.
        """
        try:
            self._socket.sendall(b"\n")
        except OSError as error:
            raise self._lost() from error

    def answer(self) -> str:
        """Wait for the answer and return it.

        Raises:
            TestbedNotUp: if the command has ended, or does not answer.
        """
        output = bytearray()
        while not output.endswith(_END):
            kind, length = _FRAME.unpack(self._read(_FRAME.size))
            content = self._read(length)
            if kind == 1:
                output += content
        return output[: -len(_END)].decode(errors="replace")

    def close(self) -> None:
        """End the command."""
        self._socket.close()
        self._response.close()

    def _read(self, length: int) -> bytes:
        while len(self._received) < length:
            readable, _, _ = select.select([self._socket], [], [], PATIENCE_HOST_S)
            try:
                content = self._socket.recv(_CHUNK_BYTES) if readable else b""
            except OSError as error:
                raise self._lost() from error
            if not content:
                raise self._lost()
            self._received += content
        taken = bytes(self._received[:length])
        del self._received[:length]
        return taken

    def _lost(self) -> TestbedNotUp:
        return TestbedNotUp(f"The container {self.container} does not answer: bring the testbed up again.")
