"""The probe between two hosts, both of its ends on the loopback of this one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.containers.hosts import underlay_probe
from emulator.containers.hosts.underlay_reader import PROBE, measure_underlay
from emulator.model.errors import EngineUnavailable
from emulator.model.underlay import Exchange, underlay_of

SECOND_NS = 1_000_000_000


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


@pytest.fixture
def served() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = free_port()
    with subprocess.Popen([sys.executable, str(PROBE), "serve", "127.0.0.1", str(port), "2"]) as server:
        yield port, server
        server.kill()


def asked(port: int, count: int, seconds: float) -> dict[str, list[list[int]]]:
    command = [sys.executable, str(PROBE), "ask", "127.0.0.1", str(port), str(count), str(seconds)]
    found: dict[str, list[list[int]]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def test_each_exchange_has_four_timestamps_and_streams_show_the_rates(
    served: tuple[int, subprocess.Popen[bytes]],
) -> None:
    found = asked(served[0], 20, 0.05)
    exchanges = [Exchange(*(stamp / SECOND_NS for stamp in each)) for each in found["exchanges"]]
    assert len(exchanges) == 20
    underlay = underlay_of(exchanges)
    # On one machine there is one clock.
    assert abs(underlay.host_clock_ahead_s) <= underlay.host_clock_bound_s + 1e-6
    for carried_bytes, duration_ns in (found["to"], found["from"]):
        assert carried_bytes > 0
        assert duration_ns > 0


def test_the_answering_end_goes_when_nobody_asks_and_another_waits_for_its_place(
    served: tuple[int, subprocess.Popen[bytes]],
) -> None:
    port, server = served
    assert len(asked(port, 1, 0.0)["exchanges"]) == 1
    command = [sys.executable, str(PROBE), "serve", "127.0.0.1", str(port), "1"]
    with subprocess.Popen(command) as following:
        assert server.wait(20) == 0
        assert len(asked(port, 1, 0.0)["exchanges"]) == 1
        assert following.wait(20) == 0


def test_a_stream_that_stalls_is_said_beside_the_exchanges(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stall(address: str, port: int, seconds: float) -> tuple[int, int]:
        raise TimeoutError("timed out")

    monkeypatch.setattr(underlay_probe, "exchanges", lambda address, port, count: [(1, 2, 3, 4)])
    monkeypatch.setattr(underlay_probe, "rate_to", stall)
    monkeypatch.setattr("sys.argv", ["underlay_probe", "ask", "127.0.0.1", "1", "1", "0.1"])
    underlay_probe.main()
    found = json.loads(capsys.readouterr().out)
    assert found == {"exchanges": [[1, 2, 3, 4]], "to": [0, 0], "from": [0, 0], "stalled": "timed out"}


def test_of_a_stream_that_stalls_the_mtu_is_the_likely_cause() -> None:
    printed = {"exchanges": [[0, 1, 2, 3]], "to": [0, 0], "from": [0, 0], "stalled": "timed out"}
    container = SimpleNamespace(exec_run=lambda command, detach: SimpleNamespace(output=json.dumps(printed).encode()))
    client: Any = SimpleNamespace(containers=SimpleNamespace(get=lambda name: container))
    away = SimpleNamespace(host=SimpleNamespace(name="two"), clusters=("delft",))
    testbed: Any = SimpleNamespace(
        record=SimpleNamespace(hosts=SimpleNamespace(central="one", hosts=(away,))),
        addresses=SimpleNamespace(broker="10.111.0.2"),
        names=SimpleNamespace(broker="lab-broker", cluster=lambda name: f"lab-{name}"),
    )
    with pytest.raises(EngineUnavailable, match=r"host 'two' .* a stream stalls \(timed out\): .* an MTU of 1550"):
        measure_underlay(client, testbed)
