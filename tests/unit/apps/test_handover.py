"""What `start-rank` hands to the parent, as the parent reads it."""

import os
import socket
from collections.abc import Iterator

import pytest

from apps.start import handover
from apps.start.handover import HEADER_BYTES, STREAMS, read_content, read_header
from emulator.model.errors import RunFailed


def header(arguments: int, length: int) -> bytes:
    return f"{arguments} {length}".encode().ljust(HEADER_BYTES - 1) + b"\n"


def content(*strings: str) -> bytes:
    return b"".join(os.fsencode(string) + b"\0" for string in strings)


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    rank, parent = socket.socketpair()
    with rank, parent:
        yield rank, parent


@pytest.fixture
def streams() -> Iterator[tuple[int, ...]]:
    opened = tuple(os.open(os.devnull, os.O_RDWR) for _ in range(STREAMS))
    yield opened
    for stream in opened:
        os.close(stream)


def test_a_rank_arrives_as_it_was_handed_over(
    connection: tuple[socket.socket, socket.socket], streams: tuple[int, ...]
) -> None:
    rank, parent = connection
    strings = content("poisson", "--grid", "400", "/tmp", "PMIX_RANK=3", "EQUATION=a=b", "EMPTY=")
    socket.send_fds(rank, [header(3, len(strings))], streams)
    rank.sendall(strings)
    received = handover.receive(parent)
    assert received is not None
    assert received.arguments == ("poisson", "--grid", "400")
    assert received.folder == "/tmp"
    assert received.environment == {"PMIX_RANK": "3", "EQUATION": "a=b", "EMPTY": ""}
    assert all(os.path.sameopenfile(ours, theirs) for ours, theirs in zip(received.streams, streams, strict=True))
    received.close_streams()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(received.streams[0])


def test_bytes_that_are_no_text_arrive_unchanged() -> None:
    rank = read_content(b"save=\xff\xfe\0/tmp/\xc3\xa9\0NAME=\xff\0", 1, (0, 1, 2))
    assert os.fsencode(rank.arguments[0]) == b"save=\xff\xfe"
    assert os.fsencode(rank.folder) == b"/tmp/\xc3\xa9"
    assert os.fsencode(rank.environment["NAME"]) == b"\xff"


def test_a_rank_may_have_empty_arguments_and_no_environment() -> None:
    rank = read_content(content("", "/"), 1, (0, 1, 2))
    assert (rank.arguments, rank.folder, rank.environment) == (("",), "/", {})


@pytest.mark.parametrize("said", [b"", header(2, 100), header(2, 100) + content("poisson")])
def test_a_rank_that_goes_before_it_has_said_all_is_no_rank(
    connection: tuple[socket.socket, socket.socket], said: bytes
) -> None:
    rank, parent = connection
    rank.sendall(said)
    rank.shutdown(socket.SHUT_WR)
    assert handover.receive(parent) is None


def test_a_handover_without_streams_is_no_rank_and_leaves_no_open_file(
    connection: tuple[socket.socket, socket.socket], streams: tuple[int, ...]
) -> None:
    rank, parent = connection
    strings = content("poisson", "/tmp")
    socket.send_fds(rank, [header(1, len(strings))], streams[:1])
    rank.sendall(strings)
    lowest_free = os.dup(streams[0])
    os.close(lowest_free)
    assert handover.receive(parent) is None
    again = os.dup(streams[0])
    os.close(again)
    assert again == lowest_free


@pytest.mark.parametrize("strange", [b"\0" * HEADER_BYTES, b"poisson --grid".ljust(HEADER_BYTES), b"3"])
def test_a_header_of_another_make_is_refused(strange: bytes) -> None:
    with pytest.raises(RunFailed, match="one version"):
        read_header(strange)


@pytest.mark.parametrize("arguments", [-1, 1, 2])
def test_too_few_strings_for_the_arguments_are_refused(arguments: int) -> None:
    with pytest.raises(RunFailed, match=f"too few for {arguments} arguments"):
        read_content(content("poisson"), arguments, (0, 1, 2))
