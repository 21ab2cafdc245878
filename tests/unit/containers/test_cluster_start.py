"""The start of a cluster's container starts daemons again when they end, ever more slowly if they keep ending.

If one refuses to run before the cluster was ready, the container ends and says why.
"""

import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cluster_start import __main__ as start
from cluster_start import clock_steps, daemons, refusal, routes
from cluster_start.daemons import Daemons
from cluster_start.slurm import next_first_job, slurm_configuration
from cluster_start.waiting import listening_ports

from emulator.containers.readiness import REFUSED


def command(text: str, file: Path) -> list[str]:
    return [sys.executable, "-c", f"open({str(file)!r}, 'a').write({text!r})"]


def test_a_daemon_that_ends_is_started_again_by_the_command_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(daemons.time, "sleep", pauses.append)
    monkeypatch.setattr(daemons, "STEADY_HOST_S", 600.0)
    watched, file = Daemons(), tmp_path / "started"
    watched.start("slurmctld", command("first ", file), restart=command("again ", file))
    while len(pauses) < 3:  # another child of this process may end meanwhile
        watched.await_end()
    assert file.read_text().startswith("first again again")
    assert pauses == [0.2, 0.4, 0.8]
    assert capsys.readouterr().out == 3 * "slurmctld ended (0); it is started again\n"


def test_every_start_of_slurmctld_gives_jobs_numbers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemons.time, "sleep", lambda pause_s: None)
    watched, first_jobs = Daemons(), list[int]()
    counted = tmp_path / "starts"
    watched.start("slurmctld", ["true"], prepare=lambda: first_jobs.append(next_first_job(counted)))
    while len(first_jobs) < 3:  # another child of this process may end first
        watched.await_end()
    assert first_jobs == [1, 100_001, 200_001]
    counted.write_text("600")
    assert next_first_job(counted) == 1
    assert counted.read_text() == "601"


def test_a_daemon_that_ran_for_long_is_started_again_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(daemons.time, "sleep", pauses.append)
    monkeypatch.setattr(daemons, "STEADY_HOST_S", -1.0)
    watched = Daemons()
    watched.start("sshd", command("x", tmp_path / "started"))
    while not pauses:  # another child of this process may end first
        watched.await_end()
    assert pauses == [0.0]


def test_a_daemon_whose_program_is_missing_is_started_as_soon_as_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(daemons.time, "sleep", pauses.append)
    watched, program, file = Daemons(), tmp_path / "munged", tmp_path / "started"
    watched.start("munged", [str(program)])
    while not pauses:  # another child of this process may end first
        watched.await_end()
    program.write_text(f"#!/bin/sh\necho started >>{file}\n")
    program.chmod(0o755)
    while len(pauses) < 3:
        watched.await_end()
    assert file.read_text().startswith("started\n")


def test_no_route_leads_out_of_the_testbed_nor_to_the_host() -> None:
    listed = [
        {"dst": "default", "gateway": "10.111.0.1", "dev": "eth0", "flags": []},
        {"dst": "10.111.0.0/24", "dev": "eth0", "scope": "link", "prefsrc": "10.111.0.10", "flags": []},
        {"dst": "10.111.128.0/24", "dev": "eth1", "scope": "link", "prefsrc": "10.111.128.10", "flags": []},
        {"dst": "10.111.128.0/17", "gateway": "10.111.128.2", "dev": "eth1", "flags": []},
    ]
    assert routes.closing_routes(listed) == [
        ["del", "default", "dev", "eth0"],
        ["replace", "prohibit", "10.111.0.1/32"],
        ["replace", "prohibit", "10.111.128.1/32"],
    ]
    closed = [*listed[1:], *({"type": "prohibit", "dst": f"10.111.{site}.1", "flags": []} for site in (0, 128))]
    assert routes.closing_routes(closed) == []


def test_routes_that_docker_changes_meanwhile_are_closed_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The first listing shows a default route on eth0 that has moved to eth1 when it is removed.
    (tmp_path / "routes").write_text('[{"dst": "default", "dev": "eth0"}]')
    (tmp_path / "ip").write_text(
        f"""#!/bin/sh
        if [ "$2" = -json ]; then cat {tmp_path}/routes; exit; fi
        echo "$@" >> {tmp_path}/log
        case "$*" in *eth0) echo '[{{"dst": "default", "dev": "eth1"}}]' > {tmp_path}/routes; exit 2;; esac
        echo '[]' > {tmp_path}/routes
        """
    )
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    routes.close_network()
    assert (tmp_path / "log").read_text() == "route del default dev eth0\nroute del default dev eth1\n"


def test_ports_that_are_listened_on_are_read_from_the_kernels_table() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listening = listening_ports(Path("/proc/net/tcp").read_text())
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert client.getsockname()[1] not in listening_ports(Path("/proc/net/tcp").read_text())
    assert port in listening
    assert port not in listening_ports(Path("/proc/net/tcp").read_text())


def test_slurmctld_is_ended_when_the_clock_is_set_either_way_and_not_while_it_runs_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Over(Exception):
        """The looks are over."""

    wall_s = iter([1000.0, 1001.0, 1002.4, 4602.4, 4603.4, 1003.4, 1004.4])
    host_s = iter([10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0])
    looks = iter(range(6))
    ended: list[str] = []

    class Ended:
        def end(self, name: str) -> None:
            ended.append(name)

    def sleep(host_s: float) -> None:
        if next(looks, None) is None:
            raise Over

    monkeypatch.setattr(
        clock_steps, "time", SimpleNamespace(time=wall_s.__next__, monotonic=host_s.__next__, sleep=sleep)
    )
    with pytest.raises(Over):
        clock_steps.watch_clock(Ended())
    assert ended == ["slurmctld", "slurmctld"]


def test_a_daemon_that_is_ended_is_started_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watched = Daemons()
    started = tmp_path / "started"
    watched.start(
        "daemon", [sys.executable, "-c", f"open({str(started)!r}, 'a').write('x'); import time; time.sleep(60)"]
    )
    for text in ("x", "xx"):
        while not started.exists() or started.read_text() != text:
            time.sleep(0.01)
        watched.end("daemon")
        # Each call waits for one child of this process, which may be one of another test.
        while text == "x" and "daemon ended" not in capsys.readouterr().out:
            watched.await_end()
    os.wait()


SLURMCTLD = """#!/bin/sh
echo "slurmctld: slurmctld version 22.05.8 started on cluster das" >&2
echo 'slurmctld: error: _parse_next_key: Parsing error at unrecognized key: Foo' >&2
echo 'slurmctld: error: Parse error in file /etc/slurm/slurm.conf line 9: "Foo=1"' >&2
echo 'slurmctld: fatal: Unable to process configuration file' >&2
exit 1
"""
SSHD = """#!/bin/sh
echo "/usr/local/lib/testbed/sshd_config: line 3: Bad configuration option: Foo" >&2
echo "/usr/local/lib/testbed/sshd_config: terminating, 1 bad configuration options" >&2
exit 255
"""


def program(folder: Path, name: str, text: str) -> list[str]:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return [str(folder / name)]


def last_line_of_refused_start(capsys: pytest.CaptureFixture[str], name: str, command: list[str]) -> str:
    """Start a daemon that refuses to run; return the last line that the container prints."""
    watched = Daemons("das")
    watched.start(name, command, stderr=subprocess.DEVNULL)
    began_host_s = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        watched.until(lambda: False, name)
    assert ended.value.code == REFUSED
    assert time.monotonic() - began_host_s < 5.0
    return str(capsys.readouterr().out.splitlines()[-1])


def test_a_slurmctld_that_refuses_its_configuration_ends_the_start_at_once_and_is_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_line_of_refused_start(capsys, "slurmctld", program(tmp_path, "slurmctld", SLURMCTLD))
    assert said == (
        "slurmctld of cluster 'das' ends whenever it is started, and says 'slurmctld: error: _parse_next_key: Parsing "
        "error at unrecognized key: Foo; slurmctld: fatal: Unable to process configuration file' (correct what it "
        "names; its configuration is made from the cluster's nodes and processors in the topology, or SLURM_CONF in "
        "images/node/cluster_start/slurm.py)"
    )


def test_so_do_daemons_that_name_no_error_say_nothing_are_killed_or_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_line_of_refused_start(capsys, "sshd", program(tmp_path, "sshd", SSHD))
    assert "says '/usr/local/lib/testbed/sshd_config: line 3: Bad configuration option: Foo' (" in said
    assert said.endswith("is made from images/node/sshd_config)")
    said = last_line_of_refused_start(capsys, "slurmd of n3", ["false"])
    assert said.startswith(
        "slurmd of n3 of cluster 'das' ends whenever it is started, and says 'nothing (it ended with status 1)'"
    )
    said = last_line_of_refused_start(capsys, "sshd", ["sh", "-c", "echo I start >&2; kill -9 $$"])
    assert "says 'I start (it ended with signal 9)'" in said
    said = last_line_of_refused_start(capsys, "munged", [str(tmp_path / "munged")])
    assert "No such file or directory" in said


def test_many_daemons_of_one_program_that_refuse_to_run_end_the_start_as_soon_as_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watched = Daemons("das")
    for index in range(20):
        watched.start(f"slurmd of n{index}", ["false"])
    with pytest.raises(SystemExit):
        watched.until(lambda: False, "slurmd")
    assert capsys.readouterr().out.count("ended") < 2 * daemons.MOST_EARLY_ENDS


def test_a_daemon_that_is_killed_while_the_cluster_starts_is_started_again_as_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    text = f"#!/bin/sh\necho $1 >> {started}\n[ $(wc -l < {started}) -gt 3 ] || kill -9 $$\nexec sleep 60\n"
    (command,) = program(tmp_path, "slurmctld", text)
    watched = Daemons("das")
    monkeypatch.setattr(refusal, "REFUSES_WITHIN_HOST_S", 0.3)
    watched.start("slurmctld", [command, "first"], restart=[command, "again"])
    # The fourth start is that of a try, which is ended when it does not end; the fifth stays.
    watched.until(lambda: started.exists() and len(started.read_text().split()) == 5, "slurmctld")
    assert started.read_text() == 5 * "first\n"
    watched.end("slurmctld")
    os.wait()


def test_a_cluster_that_is_ready_starts_a_daemon_again_however_often_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(daemons.time, "sleep", pauses.append)
    watched = Daemons("das")
    watched.start("slurmctld", ["false"])
    while len(pauses) < 4 * daemons.MOST_EARLY_ENDS:
        watched.await_end()
    assert "whenever" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sharing", "before", "awaited"), [("", [], []), ('{"rule": "ccs"}', ["arbiter"], ["the arbiter is there"])]
)
def test_ssh_is_started_when_jobs_can_run_since_the_broker_places_one_as_soon_as_it_can_log_in(
    monkeypatch: pytest.MonkeyPatch, sharing: str, before: list[str], awaited: list[str]
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(start, "start_arbiter", lambda *_: noted.append("arbiter"))
    monkeypatch.setattr(start, "start_slurm", lambda *_: noted.append("Slurm"))
    noting = SimpleNamespace(
        start=lambda name, _: noted.append(name),
        until=lambda _, what, **__: noted.append(f"{what} is there"),
    )
    start.start_cluster(noting, 2, sharing, lambda: None)
    ready = ["slurmd is there", "Slurm is there", *awaited]
    assert noted == [*before, "Slurm", *ready, "sshd", "sshd is there"]


@pytest.mark.parametrize(("exclusive", "sharing"), [(False, "NO"), (True, "EXCLUSIVE")])
def test_slurm_shares_nodes_unless_they_are_exclusive(exclusive: bool, sharing: str) -> None:
    text = slurm_configuration("east", 4, 2, 1, exclusive=exclusive, time_sharing=False)
    (partition,) = [line for line in text.splitlines() if line.startswith("PartitionName=")]
    assert partition.endswith(f" OverSubscribe={sharing}")
    assert "NodeName=n[1-4] NodeHostname=east NodeAddr=127.0.0.1 Port=[17001-17004] CPUs=2 " in text
    assert "SelectTypeParameters=CR_CPU\n" in text


def test_slurm_counts_the_memory_of_nodes_shared_in_time_where_it_is_stated() -> None:
    text = slurm_configuration("east", 4, 2, 1, exclusive=False, time_sharing=True, memory_mb=511.5)
    assert "SelectTypeParameters=CR_CPU_Memory,CR_LLN\n" in text
    assert " RealMemory=514 " in text, "each of two tasks may be rounded up by a megabyte"
    assert text.endswith("DefMemPerCPU=1\n")
    assert "Memory" not in slurm_configuration("east", 4, 2, 1, exclusive=False, time_sharing=True).replace(
        "RealMemory", ""
    )


def test_slurm_has_less_memory_to_grant_where_people_work() -> None:
    beside_users_mb = {"n6": 204.8, "n2": 256.0, "n3": 256.0}
    text = slurm_configuration(
        "east", 6, 2, 1, exclusive=False, time_sharing=True, memory_mb=512, beside_users_mb=beside_users_mb
    )
    lines = [line for line in text.splitlines() if line.startswith("NodeName=")]
    rest = "NodeHostname=east NodeAddr=127.0.0.1 Port={} CPUs=2 RealMemory={} State=UNKNOWN"
    assert lines == [
        f"NodeName=n1 {rest.format(17001, 514)}",
        f"NodeName=n[2-3] {rest.format('[17002-17003]', 258)}",
        f"NodeName=n[4-5] {rest.format('[17004-17005]', 514)}",
        f"NodeName=n6 {rest.format(17006, 207)}",
    ]


def test_slurm_has_only_room_for_rounding_where_a_contract_leaves_jobs_nothing() -> None:
    text = slurm_configuration(
        "east", 1, 2, 1, exclusive=False, time_sharing=True, memory_mb=512, beside_users_mb={"n1": 0.0}
    )
    assert " RealMemory=2 " in text


def test_slurm_gives_tasks_that_share_nodes_in_time_the_least_loaded_ones() -> None:
    assert "SelectTypeParameters=CR_CPU,CR_LLN\n" in slurm_configuration(
        "east", 4, 2, 1, exclusive=False, time_sharing=True
    )


@pytest.mark.parametrize(
    ("ceiling", "limit"), [(1_073_741_816, 65_536), (resource.RLIM_INFINITY, 65_536), (1_048_576, 65_536), (4096, 4096)]
)
def test_no_more_files_may_be_open_than_a_cluster_needs(
    monkeypatch: pytest.MonkeyPatch, ceiling: int, limit: int
) -> None:
    """Open MPI closes as many as there may be for each daemon that it starts."""
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(start.resource, "getrlimit", lambda kind: (1024, ceiling))
    monkeypatch.setattr(start.resource, "setrlimit", lambda kind, limits: given.append(limits))
    start.limit_open_files()
    assert given == [(limit, limit)]
