"""Ranks that share a node's processor: they are paced as alone, or by the rule, through a real arbiter's socket."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.arbiter import Node, Server, Sharing, listen
from apps.interfaces import shared_interface
from apps.shared_pacing import ANSWER, REQUEST, SharedPacer
from emulator.model.clock import Dilation
from emulator.model.time_sharing.rules import RULES, SocialContract

SOON_NS = 300_000_000
"""Host nanoseconds until the phases of these tests begin: all ranks have asked by then."""
WITHIN_HOST_S = 60.0


class Arbiter:
    """An arbiter of two nodes on a thread of its own."""

    def __init__(self, folder: Path, sharing: Sharing) -> None:
        self.place = str(folder / "socket")
        self._listener = listen(Path(self.place))
        self._server = Server(self._listener, sharing, ["n1", "n2"], interfaces=folder)
        self._ends = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def pacer(self, node: str = "n1", dilation: float = 1.0, nodes: Collection[str] = ()) -> SharedPacer:
        return SharedPacer(Dilation(dilation), node, nodes or {node}, self.place)

    def await_watcher(self) -> None:
        """Wait until somebody who watches local users is connected."""
        host_deadline_s = time.monotonic() + WITHIN_HOST_S
        while not self._server._watchers:
            assert time.monotonic() < host_deadline_s, "nobody watches"
            time.sleep(0.01)

    def end(self) -> None:
        self._ends = True
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waking:
            waking.connect(self.place)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._ends:
            self._server.step()


@pytest.fixture
def arbiter(tmp_path: Path) -> Iterator[Arbiter]:
    started = Arbiter(tmp_path, Sharing(RULES["linux"]))
    yield started
    started.end()


@pytest.fixture
def with_users(tmp_path: Path) -> Iterator[Arbiter]:
    """Yield an arbiter under the rule that protects local users; at n1 one wants the processor a third of the time."""
    started = Arbiter(tmp_path, Sharing(RULES["ccs"], SocialContract(0.5), {"n1": (0.01, 0.02)}))
    yield started
    started.end()


class Watcher:
    """A program that prints the bursts of local users."""

    def __init__(self, arbiter: Arbiter) -> None:
        self.said: list[str] = []
        command = f"from apps.local_bursts import main; main({arbiter.place!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )


@contextmanager
def watching(arbiter: Arbiter) -> Iterator[Watcher]:
    """Yield a watcher of local users; afterwards it has ended because its input did, and said all."""
    watcher = Watcher(arbiter)
    arbiter.await_watcher()
    yield watcher
    time.sleep(0.2)
    said, _ = watcher.process.communicate(timeout=20)
    watcher.said += said.splitlines()
    assert watcher.process.returncode == 0


@contextmanager
def many_open_files(number: int) -> Iterator[None]:
    """Have so many files open that what is opened afterwards has a larger number."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(least, min(2 * number, most)), most))
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (least, most))
        for _ in range(number):
            opened.enter_context(Path("/dev/null").open("rb"))
        yield


def ends_ns(pacer: SharedPacer, emulated_s: float, started_ns: int, phases: int = 1) -> list[int]:
    """Run phases one after another; return when each ended, in nanoseconds from the first one's beginning."""
    phase, ended_ns, ends = pacer.phase(emulated_s), started_ns, []
    for _ in range(phases):
        pacer.begin(phase, ended_ns)
        ended_ns = pacer.finish(phase, ended_ns)
        ends.append(ended_ns - started_ns)
    return ends


def test_a_rank_alone_on_its_node_is_paced_as_on_a_processor_of_its_own(arbiter: Arbiter) -> None:
    pacer = arbiter.pacer(dilation=4.0)
    ends = ends_ns(pacer, 0.005, time.monotonic_ns(), phases=5)
    assert ends == pytest.approx([20_000_000 * number for number in range(1, 6)], abs=5)
    assert pacer.count.phases == 5


@pytest.mark.timed
def test_two_ranks_take_turns_of_a_quantum_on_one_node_and_not_on_two(arbiter: Arbiter) -> None:
    """0.1 s each at a quantum of 0.06 s: one has it until 0.06 and from 0.12 to 0.16, the other until 0.12 and 0.2."""
    started_ns = time.monotonic_ns() + SOON_NS
    ranks = [arbiter.pacer(), arbiter.pacer(), arbiter.pacer("n2")]
    with ThreadPoolExecutor(len(ranks)) as threads:
        ends = list(threads.map(lambda rank: ends_ns(rank, 0.1, started_ns), ranks))
    together = sorted(ends[0] + ends[1])
    assert together == pytest.approx([160_000_000, 200_000_000], abs=5)
    assert ends[2] == pytest.approx([100_000_000], abs=5)
    waits = sorted(rank.count.host_wait_ns for rank in ranks)
    assert waits == pytest.approx([0, 60_000_000, 100_000_000], abs=5)


@pytest.mark.timed
def test_a_rank_that_goes_leaves_its_share_to_the_others(arbiter: Arbiter) -> None:
    started_ns = time.monotonic_ns() + SOON_NS
    long, going = arbiter.pacer(), arbiter.pacer()
    going.begin(going.phase(60.0), started_ns)
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(ends_ns, long, 0.5, started_ns)
        time.sleep((SOON_NS + 200_000_000) / 1e9)
        going.close()
        assert 500_000_000 < ended.result()[0] < 900_000_000


def test_a_nodes_interface_is_free_when_the_first_rank_comes_whatever_a_killed_job_left_there(
    arbiter: Arbiter, tmp_path: Path
) -> None:
    first = arbiter.pacer()
    shared_interface("n1", tmp_path)[0] = 7
    second = arbiter.pacer()
    assert shared_interface("n1", tmp_path)[0] == 7, "the first rank still sends through it"
    first.close()
    second.close()
    arbiter.pacer().close()
    assert shared_interface("n1", tmp_path)[0] == 0


def test_a_rank_is_served_whatever_the_number_of_its_connection(arbiter: Arbiter) -> None:
    with many_open_files(1100):
        pacer = arbiter.pacer(dilation=4.0)
        ends = ends_ns(pacer, 0.005, time.monotonic_ns())
        pacer.close()
    assert ends == pytest.approx([20_000_000], abs=5)


def test_ranks_of_two_dilations_cannot_share_a_node(arbiter: Arbiter) -> None:
    first = arbiter.pacer(dilation=4.0)
    with pytest.raises(ConnectionError, match="refuses a rank: its ranks run at a dilation of 4, not of 8"):
        arbiter.pacer(dilation=8.0)
    arbiter.pacer("n2", dilation=8.0).close()
    first.close()


def test_a_node_that_does_not_exist_and_an_arbiter_that_does_not_run_are_named(
    arbiter: Arbiter, tmp_path: Path
) -> None:
    with pytest.raises(ConnectionError, match="node 'n3' refuses a rank: this cluster has no node 'n3'"):
        arbiter.pacer("n3")
    with pytest.raises(ConnectionError, match="node 'n1' does not answer"):
        SharedPacer(Dilation(1.0), "n1", {"n1"}, str(tmp_path / "nobody"))


def test_an_arbiter_that_ends_is_named_also_if_it_leaves_a_request_unread(tmp_path: Path) -> None:
    """Its end is then an error of the connection, and not the connection's end."""
    with listen(tmp_path / "socket") as listener, ThreadPoolExecutor(1) as thread:
        beginning = thread.submit(SharedPacer, Dilation(1.0), "n1", {"n1"}, str(tmp_path / "socket"))
        connection, _ = listener.accept()
        with connection:
            connection.send(b'{"refused": ""}')
            pacer = beginning.result()
            phase = pacer.phase(1.0)
            pacer.begin(phase, 0)
        with pytest.raises(ConnectionError, match="The arbiter of node 'n1' has ended"):
            pacer.finish(phase, 0)


@pytest.mark.timed
def test_local_users_take_their_share_of_the_node_where_they_work_and_are_told_of(with_users: Arbiter) -> None:
    """At n1 a user wants a third of the processor; under the contract a rank beside gets what is left of the rest."""
    with watching(with_users) as watcher:
        ranks = [with_users.pacer(node, dilation=0.25) for node in ("n1", "n2")]
        started_ns = time.monotonic_ns() + SOON_NS
        host_start_moment_s = time.time() + SOON_NS / 1e9
        with ThreadPoolExecutor(len(ranks)) as threads:
            beside, alone = threads.map(lambda rank: ends_ns(rank, 3.0, started_ns), ranks)
        for rank in ranks:
            rank.close()
    assert alone[-1] == pytest.approx(750_000_000, abs=5)
    assert 1.15 < beside[-1] / alone[-1] < 2.0
    bursts = [line.split() for line in watcher.said]
    bursts = [burst for burst in bursts if float(burst[0]) > host_start_moment_s]
    assert len(bursts) > 20
    assert {(node, parallel) for _, node, parallel, _, _ in bursts} == {("n1", "1")}
    taken_s = sum(float(processor_s) for *_, processor_s, _ in bursts)
    assert taken_s == pytest.approx((beside[-1] - alone[-1]) / 1e9 / 0.25, rel=0.15)
    assert abs(float(bursts[-1][0]) - time.time()) < 5.0


@pytest.mark.timed
def test_the_tasks_of_a_job_get_quanta_of_the_size_that_its_slowest_node_gives(with_users: Arbiter) -> None:
    """Each of two tasks at n1 may count on a quarter of it, as half is a user's, and each of two at n2 on a half.

    So a task at n2 whose job has another at n1 gets half the quanta of one whose job has not.
    """
    ranks = [with_users.pacer("n1", nodes={"n1", "n2"}) for _ in range(2)]
    ranks += [with_users.pacer("n2", nodes={"n1", "n2"}), with_users.pacer("n2")]
    started_ns = time.monotonic_ns() + SOON_NS
    with ThreadPoolExecutor(len(ranks)) as threads:
        *_, tied, free = threads.map(lambda rank: ends_ns(rank, 0.3, started_ns), ranks)
    assert free[0] == pytest.approx(440_000_000, abs=70_000_000)
    assert tied[0] == pytest.approx(600_000_000, abs=5)


def test_at_a_small_dilation_a_rank_keeps_its_processor_from_one_phase_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a host that has run for months, emulated timestamps differ there by more than rounding to nanoseconds makes
    elsewhere. All phases are within the first rank's quantum, so that the other one has to wait."""
    now_ns = began_ns = 10_000_000_000_000_000
    monkeypatch.setattr("apps.arbiter.time", SimpleNamespace(monotonic_ns=lambda: now_ns))
    node, duration_ns = Node(Sharing(RULES["linux"]), None), 12_345
    (first, told), (other, told_other) = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2))
    with first, told, other, told_other:
        for rank in (first, other):
            node.add(rank, Dilation(0.01), ("n1",))
            node.request(rank, REQUEST.pack(began_ns, duration_ns))
        told.setblocking(False)
        for phase in range(1, 21):
            now_ns = began_ns + phase * duration_ns + 1000
            node.advance()
            ended_ns, _ = ANSWER.unpack(told.recv(ANSWER.size))
            assert ended_ns == pytest.approx(began_ns + phase * duration_ns, abs=200)
            node.request(first, REQUEST.pack(ended_ns, duration_ns))


def test_local_users_of_equally_named_nodes_work_each_in_their_own_way() -> None:
    sharing = Sharing(RULES["ccs"], users={"n1": (0.1, 0.2)})
    first, again, elsewhere = (sharing.work_on("n1", cluster) for cluster in ("delft", "delft", "leiden"))
    assert first is not None
    assert again is not None
    assert elsewhere is not None
    bursts_s = [work.draw_burst_s() for work in (first, again, elsewhere)]
    assert bursts_s[0] == bursts_s[1] != bursts_s[2]
