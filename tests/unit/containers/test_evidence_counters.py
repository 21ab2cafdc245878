"""Counters of the host and of a container, from the files of kernels that lay them out differently."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path

import pytest

from emulator.containers.telemetry.control_groups import ControlGroups
from emulator.containers.telemetry.counters import Counters, host_counters, missing_counters
from emulator.containers.telemetry.own_processes import OwnProcesses
from emulator.model.evidence import COMMAND_PART, HOST_PART

CONTAINER = "1a2b3c"
PROCESS = 42
SNMP = (
    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs"
    " OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
    "Tcp: 1 200 120000 -1 437 427 4 1 3 29923 27081 19 0 5 0\n"
)
NETSTAT = "TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes\nTcpExt: 0 3 1\nIpExt: InNoRoutes\nIpExt: 0\n"
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


class Host:
    """A host's /proc and control groups, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.proc = folder, folder / "proc"

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")

    def has_unified_groups(self) -> None:
        group = f"/system.slice/docker-{CONTAINER}.scope"
        self.write(f"proc/{PROCESS}/cgroup", f"0::{group}\n")
        self.write("proc/self/mountinfo", f"30 23 0:26 / {self.folder}/cg rw - cgroup2 cgroup2 rw\n")
        self.write(f"cg{group}/cpu.stat", "usage_usec 1500000\nnr_throttled 2\nthrottled_usec 250000\n")
        self.write(f"cg{group}/cpu.pressure", PRESSURE.format(3_000_000))
        self.write(f"cg{group}/io.pressure", PRESSURE.format(0))
        self.write("cg/system.slice/cpu.stat", "usage_usec 9\nthrottled_usec 50000\n")
        self.write(f"proc/{PROCESS}/net/snmp", SNMP)
        self.write(f"proc/{PROCESS}/net/netstat", NETSTAT)

    def has_groups_of_version_1(self) -> None:
        lines = "".join(f"{number}:{name}:/docker/{CONTAINER}\n" for number, name in enumerate(("cpu", "cpuacct"), 1))
        self.write(f"proc/{PROCESS}/cgroup", lines)
        mounts = (f"3{number} 23 0:26 / {self.folder}/{name} rw - cgroup cgroup rw,{name}\n" for number, name in
                  enumerate(("cpu", "cpuacct")))  # fmt: skip
        self.write("proc/self/mountinfo", "".join(mounts))
        self.write(f"cpu/docker/{CONTAINER}/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 250000000\n")
        self.write("cpu/docker/cpu.stat", "nr_periods 9\nnr_throttled 1\nthrottled_time 50000000\n")
        self.write(f"cpuacct/docker/{CONTAINER}/cpuacct.usage", "1500000000\n")
        self.write(f"proc/{PROCESS}/net/snmp", SNMP)
        self.write(f"proc/{PROCESS}/net/netstat", NETSTAT)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def counters(host: Host) -> Counters:
    groups = ControlGroups.of(PROCESS, CONTAINER, host.proc)
    assert groups is not None
    return groups.counters()


def test_both_versions_of_control_groups_tell_the_same(host):
    host.has_unified_groups()
    unified = counters(host)
    other = Host(host.folder / "other")
    other.has_groups_of_version_1()
    assert unified.host_cpu_s == counters(other).host_cpu_s == 1.5
    assert (unified.retransmissions, unified.segments, unified.timeouts) == (19, 27100, 3)
    # A quota of a group above holds the container back as its own does.
    assert unified.host_throttled_s == pytest.approx(0.3)
    assert counters(other).host_throttled_s == pytest.approx(0.3)


ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t000AA8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth1\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0
eth1\t{other}\t{gateway}\t0003\t0\t0\t0\t{mask}\t0\t0\t0
"""
DEVICES = """Inter-|   Receive                                        |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
  eth0:   111       1    0    0    0     0          0         0   222       2    0    0    0     0       0          0
  eth1: 5000000   400    0    0    0     0          0         0 7000000   500    0    0    0     0       0          0
"""


def as_in_the_table(address: str) -> str:
    return f"{int.from_bytes(ipaddress.ip_address(address).packed, sys.byteorder):08X}"


def crossed(host, devices: str, address: str | None) -> tuple[int | None, int | None]:
    """The bytes sent and received over the access link of the container with `address`."""
    host.has_unified_groups()
    routes = ROUTES.format(
        network=as_in_the_table("10.1.2.0"), mask=as_in_the_table("255.255.255.240"),
        other=as_in_the_table("10.1.2.16"), gateway=as_in_the_table("10.1.2.1"),
    )  # fmt: skip
    host.write(f"proc/{PROCESS}/net/route", routes)
    host.write(f"proc/{PROCESS}/net/dev", devices)
    groups = ControlGroups.of(PROCESS, CONTAINER, host.proc, address)
    assert groups is not None
    found = groups.counters()
    return found.sent_bytes, found.received_bytes


def test_what_crosses_the_access_link_is_counted_at_the_device_of_its_network(host):
    assert crossed(host, DEVICES, "10.1.2.7/28") == (7_000_000, 5_000_000)
    # Another site's network is reached through the device, too, but by way of the router.
    others = ("10.1.2.7/24", "10.1.2.19/28", None)
    assert [crossed(host, DEVICES, address) for address in others] == [(None, None)] * 3


def test_a_frame_that_the_downlinks_queue_drops_has_not_crossed_the_link(host):
    devices = DEVICES + "  ifb0: 4600000 31 0 0 0 0 0 0 4600000 31 0 0 0 0 0 0\n"
    assert crossed(host, devices, "10.1.2.7/28") == (7_000_000, 4_600_000)


def test_pressure_is_the_containers_own_where_the_kernel_counts_it_so(host):
    host.has_unified_groups()
    assert counters(host).host_cpu_wait_s == 3.0
    assert counters(host).host_io_wait_s == 0.0
    assert counters(host).host_memory_wait_s is None


@pytest.mark.parametrize(("state", "is_stopped"), [("S", False), ("R", False), ("T", True), ("t", False)])
@pytest.mark.parametrize("has_groups", [Host.has_unified_groups, Host.has_groups_of_version_1])
def test_a_stopped_process_of_a_container_is_found(host, has_groups, state, is_stopped):
    has_groups(host)
    for folder in (f"cg/system.slice/docker-{CONTAINER}.scope", f"cpuacct/docker/{CONTAINER}"):
        host.write(f"{folder}/cgroup.procs", "42\n77\n99\n")
    host.write("proc/42/stat", "42 (init) S 1 42")
    host.write("proc/77/stat", f"77 (linux (T) guest) {state} 42 77")
    groups = ControlGroups.of(PROCESS, CONTAINER, host.proc)
    assert groups is not None
    assert groups.has_stopped_process() is is_stopped


def test_beside_groups_of_version_1_the_runtimes_group_of_version_2_is_not_the_containers(host):
    host.has_groups_of_version_1()
    with (host.proc / str(PROCESS) / "cgroup").open("a") as groups:
        groups.write("0::/system.slice/containerd.service\n")
    with (host.proc / "self" / "mountinfo").open("a") as mounts:
        mounts.write(f"40 23 0:26 / {host.folder}/cg rw - cgroup2 cgroup2 rw\n")
    host.write("cg/system.slice/containerd.service/cpu.pressure", PRESSURE.format(3_000_000))
    host.write("cg/system.slice/containerd.service/cgroup.procs", "77\n")
    host.write("proc/77/stat", "77 (another) T 1 77")
    groups_found = ControlGroups.of(PROCESS, CONTAINER, host.proc)
    assert groups_found is not None
    assert groups_found.counters().host_cpu_wait_s is None
    assert groups_found.counters().host_cpu_s == 1.5
    assert not groups_found.has_stopped_process()


def test_a_process_that_is_not_the_containers_is_not_taken_for_it(host):
    """As where the engine is in a virtual machine: its process numbers are other processes' here."""
    host.has_unified_groups()
    assert ControlGroups.of(PROCESS, "another", host.proc) is None
    assert ControlGroups.of(PROCESS + 1, CONTAINER, host.proc) is None


def test_the_host_counts_what_was_used_stolen_waited_for_swapped_and_killed(host, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    monkeypatch.setattr("time.monotonic", lambda: 60.0)
    host.write("proc/stat", "cpu  1000 50 600 9000 30 10 20 40 500 0\ncpu0 1 1\ncpu1 2 2\nintr 5\n")
    host.write("proc/vmstat", "pswpin 5\npswpout 7\noom_kill 1\n")
    host.write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 25 kB\n")
    host.write("proc/pressure/cpu", PRESSURE.format(1_500_000))
    found = host_counters(host.proc)
    assert (found.host_cpu_s, found.host_stolen_s) == (pytest.approx(2 * 60 - 90.3 - 0.4), 0.4)
    assert (found.swapped_pages, found.killed_processes, found.memory_available_bytes) == (12, 1, 25600)
    assert (found.host_cpu_wait_s, found.host_memory_wait_s) == (1.5, None)


def test_what_a_host_does_not_tell_is_named(host):
    phrases = missing_counters({HOST_PART: host_counters(host.proc), "delft": Counters(host_cpu_s=1.0)})
    assert "the host's pressure: its kernel counts none" in phrases
    assert "throttling of containers" in phrases
    assert not any("by containers" in phrase for phrase in phrases)
    assert "the bytes that cross access links" in phrases
    counted = Counters(1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 5, 0, 0, sent_bytes=1, received_bytes=1)
    assert missing_counters({HOST_PART: counted, "delft": counted, COMMAND_PART: Counters(host_cpu_s=1)}) == []


def test_a_row_is_the_difference_of_two_looks(host):
    before = Counters(host_cpu_s=1.0, segments=100, memory_available_bytes=900, swapped_pages=3)
    after = Counters(host_cpu_s=1.5, segments=130, memory_available_bytes=700, retransmissions=2)
    row = after.row_since(before, "delft", 12.0, 1.0)
    assert (row.host_cpu_s, row.segments, row.memory_available_bytes) == (0.5, 30, 700)
    assert row.swapped_pages is None
    assert row.retransmissions is None
    restarted = Counters(host_cpu_s=0.1).row_since(before, "delft", 13.0, 1.0)
    assert restarted.host_cpu_s == 0


def _process(host, number, name, user, system, begun=7):
    """Write a process with those times, in hundredths of a second; its name may hold anything."""
    host.write(f"proc/{number}/stat", f"{number} ({name}) S 1 {'0 ' * 9}{user} {system} 0 0 20 0 1 0 {begun} 0 0\n")


def test_the_command_its_load_generator_and_the_engines_storage_are_the_testbeds_own(host, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    for number, name, user, system in ((10, "test) bed", 100, 20), (11, "locust", 50, 0), (12, "fuse-overlayfs", 7, 3)):
        _process(host, number, name, user, system)
    host.write("proc/10/task/10/children", "11 13 \n")
    host.write("proc/11/cmdline", "/usr/bin/python3\0-m\0locust\0-f\0file\0")
    host.write("proc/13/cmdline", "/usr/bin/python3\0-c\0while True: pass\0")
    _process(host, 13, "python3", 10_000, 0)
    host.write("proc/12/comm", "fuse-overlayfs\n")
    host.write("proc/12/cmdline", "fuse-overlayfs\0-o\0lowerdir=/a\0/var/merged\0")
    own = OwnProcesses.of(["/var/merged", "/var/other"], host.proc)
    own.own = "10"
    assert own.used_s() == pytest.approx(1.8)
    host.write("proc/11/stat", "")  # and 13, which is no load generator, is other work
    _process(host, 10, "test) bed", 140, 20)
    assert own.used_s() == pytest.approx(2.2), "what a process used that has ended counts on"
    _process(host, 11, "locust", 1, 0, begun=9)
    assert own.used_s() == pytest.approx(2.21), "another process may have its number"


def test_storage_of_other_containers_is_other_work(host):
    _process(host, 12, "fuse-overlayfs", 7, 3)
    host.write("proc/12/comm", "fuse-overlayfs\n")
    host.write("proc/12/cmdline", "fuse-overlayfs\0-o\0lowerdir=/a\0/home/other/merged\0")
    assert OwnProcesses.of(["/var/merged"], host.proc).storage == ()
    assert OwnProcesses.of([], host.proc).storage == ()


def test_a_host_without_these_files_counts_nothing(tmp_path):
    assert OwnProcesses.of(["/var/merged"], tmp_path).used_s() == 0.0


def test_this_process_is_counted_for_real():
    own = OwnProcesses()
    before_s = own.used_s()
    while own.used_s() - before_s < 0.05:
        sum(range(10_000))
