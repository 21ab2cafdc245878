"""Programs of the testbed inside its containers, which live as long as the process that started them.

Each reads lines from its standard input, and ends when that ends: so none is left, however this process ends.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import docker

from emulator.containers.engine import ENGINE_ERRORS
from emulator.model.errors import TestbedNotUp

CLOSE_WITHIN_HOST_S: Final = 30.0
"""How long a program may take to end: cancelling some hundred jobs takes a second or two."""

OnLine = Callable[[str, str | None], None]
"""Called with a cluster and a line that its program prints, or with None if the program has ended by itself."""

_FRAME: Final = struct.Struct(">BxxxL")
_STANDARD_OUTPUT: Final = 1
_CHUNK_BYTES: Final = 65536


class Program:
    """A program in a container, told what to do line by line, and read by a thread.

    `on_line` gets each line that it prints, and None if it ends by itself.

    Raises:
        TestbedNotUp: if the container does not run.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        container: str,
        command: Sequence[str],
        on_line: Callable[[str | None], None],
    ) -> None:
        try:
            api = client.containers.get(container).client.api
            made = api.exec_create(container, list(command), stdin=True, stdout=True, stderr=False)
            self._response = api.exec_start(made["Id"], socket=True)
        except ENGINE_ERRORS as error:
            raise TestbedNotUp(f"The container {container} runs no program of the testbed ({error}).") from error
        self._socket: Any = getattr(self._response, "_sock", self._response)
        self._socket.settimeout(None)
        self._container = container
        self._on_line = on_line
        self._is_ending = False
        self._thread = threading.Thread(target=self._read, name=f"program-{container}", daemon=True)
        self._thread.start()

    def tell(self, line: str) -> None:
        """Tell the program what to do.

        Raises:
            TestbedNotUp: if it has ended.
        """
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError as error:
            raise TestbedNotUp(
                f"The container {self._container} runs the testbed's program no longer ({error})."
            ) from error

    def end(self) -> None:
        """End its input, by which it learns that it is to end."""
        self._is_ending = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> bool:
        """Wait until it has ended, and return whether it has."""
        self._thread.join(CLOSE_WITHIN_HOST_S)
        has_ended = not self._thread.is_alive()
        self._socket.close()
        self._response.close()
        return has_ended

    def _read(self) -> None:
        unfinished = b""
        while (content := self._standard_output()) is not None:
            *lines, unfinished = (unfinished + content).split(b"\n")
            for line in lines:
                self._on_line(line.decode(errors="replace"))
        if not self._is_ending:
            self._on_line(None)

    def _standard_output(self) -> bytes | None:
        """Return what the program prints next; None if it has ended."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind, length = _FRAME.unpack(self._received(_FRAME.size))
                content = self._received(length)
                if kind == _STANDARD_OUTPUT:
                    return content
        return None

    def _received(self, length: int) -> bytes:
        content = b""
        while len(content) < length:
            chunk: bytes = self._socket.recv(min(_CHUNK_BYTES, length - len(content)))
            if not chunk:
                raise EOFError
            content += chunk
        return content
