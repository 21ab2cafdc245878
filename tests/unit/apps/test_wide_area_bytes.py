"""The bytes of frames that a connection carried, by the kernel's own counts."""

from __future__ import annotations

import socket

from apps.wide_area_bytes import FRAME_HEADERS_BYTES, frame_bytes


def test_a_connection_of_this_kernel_carried_what_was_sent_through_it_and_its_headers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as near:
        far, _ = listening.accept()
        with far:
            near.sendall(bytes(100_000))
            far.sendall(bytes(10))
            taken = 0
            while taken < 100_000:
                taken += len(far.recv(65536))
            near.recv(10)
            found = [frame_bytes(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)) for end in (near, far)]
    for (sent, received), (payload_sent, payload_received) in zip(
        [pair for pair in found if pair is not None], [(100_000, 10), (10, 100_000)], strict=True
    ):
        for counted, payload in ((sent, payload_sent), (received, payload_received)):
            headers = counted - payload
            assert headers >= FRAME_HEADERS_BYTES
            assert headers % FRAME_HEADERS_BYTES == 0


def test_a_kernel_that_counts_too_little_counts_nothing() -> None:
    assert frame_bytes(bytes(104)) is None
    assert frame_bytes(bytes(208)) == (0, 0)
