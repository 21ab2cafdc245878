"""The counters of another host, as a container there sees them."""

from __future__ import annotations

import time
from types import SimpleNamespace

import docker.errors
import pytest
import requests

from emulator.containers.hosts.tunnels import TunnelLost
from emulator.containers.telemetry.container_telemetry import ContainerTelemetry
from emulator.containers.telemetry.other_hosts import BOOT, FILES, HOST_LEFT_ALONE_S, READ, RemoteContainer
from emulator.containers.telemetry.own_processes import OwnProcesses
from emulator.containers.telemetry.standstills import Standstills
from emulator.model.errors import TestbedNotUp
from emulator.model.evidence import HostSize

NETSTAT = "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 3\n"
OF_HOST = {
    BOOT: "f743571f\n",
    "/proc/stat": "cpu  1000 50 600 9000 30 10 20 40 500 0\ncpu0 1 1\ncpu1 2 2\nintr 5\n",
    "/proc/vmstat": "pswpin 5\npswpout 7\noom_kill 1\n",
    "/proc/meminfo": "MemTotal: 100 kB\nMemAvailable: 25 kB\n",
    "/proc/uptime": "60.00 100.00\n",
    "/proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
    "/proc/self/net/netstat": NETSTAT,
}
VERSION_1 = {
    "/sys/fs/cgroup/cpu/cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 250000000\n",
    "/sys/fs/cgroup/cpuacct/cpuacct.usage": "1500000000\n",
}
VERSION_2 = {"/sys/fs/cgroup/cpu.stat": "usage_usec 1500000\nthrottled_usec 250000\n"}


class Console:
    """A console that answers as `READ` does, from `files`; it is lost when `files` is None."""

    def __init__(self, files):
        self.files = files

    def ask(self):
        if self.files is None:
            raise TestbedNotUp("lost")

    def answer(self):
        return "".join(f"{name}:{line}\n" for name, text in self.files.items() for line in text.splitlines())

    def close(self):
        pass


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A container whose console is made of what the test puts into `files`."""
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    container = RemoteContainer(None, "testbed-delft", "delft", "right", tmp_path / "delft")
    container.files = dict(OF_HOST)
    monkeypatch.setattr(RemoteContainer, "_opened", lambda self: Console(self.files))
    return container


def test_another_host_s_counters_are_read_like_this_one_s(remote):
    assert remote.ask()
    assert remote.receive()
    found = remote.host_counters()
    assert (found.host_cpu_s, found.host_stolen_s) == (pytest.approx(2 * 60 - 90.3 - 0.4), 0.4)
    assert (found.swapped_pages, found.killed_processes, found.memory_available_bytes) == (12, 1, 25600)
    assert (found.host_cpu_wait_s, found.host_memory_wait_s) == (1.5, None)
    assert remote.size == HostSize(2, 102400)
    assert remote.boot == ["f743571f"]


@pytest.mark.parametrize("groups", [VERSION_1, VERSION_2])
def test_both_versions_of_control_groups_tell_what_the_container_used(remote, groups):
    remote.files |= groups
    assert remote.ask()
    assert remote.receive()
    found = remote.counters()
    assert (found.host_cpu_s, found.host_throttled_s, found.timeouts) == (1.5, 0.25, 3)


def test_a_container_that_is_lost_is_asked_again_later_and_keeps_its_last_counters(remote, monkeypatch):
    assert remote.size is None
    assert remote.ask()
    assert remote.receive()
    remote._console.files = None
    assert not remote.ask()
    assert remote.size == HostSize(2, 102400)
    assert not remote.ask()
    later_s = time.monotonic() + HOST_LEFT_ALONE_S
    monkeypatch.setattr("time.monotonic", lambda: later_s)
    assert remote.ask()
    assert remote.receive()


def test_every_file_that_is_read_is_asked_for():
    assert set(OF_HOST) | set(VERSION_1) | set(VERSION_2) <= set(FILES)
    assert all(name in READ for name in FILES)


@pytest.mark.parametrize(
    "error",
    [requests.ConnectionError("refused"), TunnelLost("Host 'right' is not reached."), docker.errors.NotFound("gone")],
)
def test_a_host_whose_engine_does_not_answer_is_one_that_is_lost_and_no_defect(tmp_path, error):
    def refuse(name):
        raise error

    client = SimpleNamespace(containers=SimpleNamespace(get=refuse))
    assert not RemoteContainer(client, "testbed-delft", "delft", "right", tmp_path / "delft").ask()


@pytest.fixture
def joined():
    """The hosts from which no events come, as the joined events of all hosts say."""
    return SimpleNamespace(unheard=frozenset())


@pytest.fixture
def telemetry(remote, joined):
    return ContainerTelemetry(
        client=None,
        clusters=("delft",),
        containers={"delft": "testbed-delft"},
        standstills=Standstills(joined=joined),
        own_processes=OwnProcesses(),
        others={"delft": remote},
    )


def test_a_host_whose_events_do_not_come_is_not_looked_at_and_what_is_missing_is_said(remote, joined, telemetry):
    assert {"host", "delft", "host:right"} <= set(telemetry.look())
    assert telemetry.missing == ()
    opened = remote._console
    joined.unheard = frozenset({"right"})
    opened.files = None
    found = telemetry.look()
    assert "host" in found
    assert not {"delft", "host:right"} & set(found)
    assert telemetry.missing == ("the counters of delft on host right, at some time",)
    assert telemetry._answering_console("delft") is None
    # It is read again at once, by another console.
    joined.unheard = frozenset()
    assert {"delft", "host:right"} <= set(telemetry.look())
    assert remote._console is not opened


def test_a_host_that_failed_a_look_before_its_events_stopped_is_read_as_soon_as_they_come_again(
    remote, joined, telemetry
):
    telemetry.look()
    remote._console.files = None
    assert "delft" not in telemetry.look()
    assert not remote.ask(), "while its events come it is left alone for a while"
    joined.unheard = frozenset({"right"})
    assert "delft" not in telemetry.look()
    joined.unheard = frozenset()
    assert {"delft", "host:right"} <= set(telemetry.look())
