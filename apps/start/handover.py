"""The message by which `start-rank` hands a rank to the parent.

It holds the rank's arguments, working directory, environment and standard streams. The head of `rank.c`, which writes
the message, describes its format.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from emulator.model.errors import RunFailed

HEADER_BYTES = 64
STREAMS = 3
_RECEIVED_AT_ONCE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Handover:
    """A rank as it is to run; `streams` are open files of this process: standard input, output and error."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    streams: tuple[int, ...]

    def adopt_streams(self) -> None:
        """Make the streams this process's standard streams."""
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)

    def close_streams(self) -> None:
        """Close the streams of this process; the rank has copies."""
        for stream in self.streams:
            os.close(stream)


def receive(connection: socket.socket) -> Handover | None:
    """Receive the rank that `connection` hands over; return None if it closed before the end of the message.

    Raises:
        RunFailed: if the message does not describe a rank.
    """
    header, streams = _receive_header(connection)
    content = b""
    if header is not None:
        arguments, length = read_header(header)
        content = _receive_exactly(connection, length)
        if len(content) == length and len(streams) == STREAMS:
            return read_content(content, arguments, streams)
    for stream in streams:
        os.close(stream)
    return None


def read_header(header: bytes) -> tuple[int, int]:
    """Return the number of arguments that follow, and the number of bytes.

    Raises:
        RunFailed: if the header is of another make.
    """
    try:
        arguments, length = (int(word) for word in header.split())
    except ValueError:
        raise RunFailed(f"A rank was handed over with the header {header!r}: install one version everywhere.") from None
    return arguments, length


def read_content(content: bytes, arguments: int, streams: tuple[int, ...]) -> Handover:
    """Read the rank that the strings of a message describe.

    Raises:
        RunFailed: if there are fewer strings than there must be.
    """
    strings = content.split(b"\0")[:-1]
    if not 0 <= arguments < len(strings):
        raise RunFailed(f"A rank was handed over with {len(strings)} strings, too few for {arguments} arguments.")
    words = [os.fsdecode(string) for string in strings]
    variables = (word.partition("=") for word in words[arguments + 1 :])
    return Handover(
        arguments=tuple(words[:arguments]),
        folder=words[arguments],
        environment={name: value for name, _, value in variables if name},
        streams=streams,
    )


def _receive_header(connection: socket.socket) -> tuple[bytes | None, tuple[int, ...]]:
    try:
        header, streams, _, _ = socket.recv_fds(connection, HEADER_BYTES, STREAMS)
    except ConnectionError:
        return None, ()
    header += _receive_exactly(connection, HEADER_BYTES - len(header)) if header else b""
    return (header if len(header) == HEADER_BYTES else None), tuple(streams)


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    """Receive `length` bytes, or fewer if the connection ends."""
    received = bytearray()
    while len(received) < length:
        try:
            part = connection.recv(min(length - len(received), _RECEIVED_AT_ONCE_BYTES))
        except ConnectionError:
            break
        if not part:
            break
        received += part
    return bytes(received)
