"""A broker that is watched from a terminal: served over HTTP, followed by `testbed watch`."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from emulator.client import BrokerClient
from emulator.fidelity.topics import Topic
from emulator.model.errors import TestbedNotUp
from emulator.model.job import JobState
from emulator.model.page_views import (
    BackgroundNote,
    CheckNote,
    NotesRequest,
    PageReason,
    RunNote,
    VerdictNote,
)
from emulator.model.project import PROJECT_ROOT
from emulator.model.views import EventKind
from emulator.watch.following import Back, Began, Happened, Lost, News, Watch
from tests.unit.broker.api_server import TOKEN, Server
from tests.unit.broker.broker_setup import PATIENCE_HOST_S, begin_fast_run


class Watcher:
    """A watch of a setup's broker in a thread of its own, with what it said so far."""

    def __init__(self, setup, server) -> None:
        self.setup, self.server = setup, server
        self.token = TOKEN
        self.said: list[News] = []
        self.watch = Watch(lambda: BrokerClient(self.server.url, self.token))
        self.watch.begin()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for news in self.watch.follow():
            self.said.append(news)

    def until(self, condition) -> None:
        """Wait until `condition` holds of what is shown."""
        self.setup.until(lambda: condition(self.watch.moment()))

    def kinds(self, job: int) -> list[EventKind]:
        events = [news.event for news in self.said if isinstance(news, Happened)]
        return [event.kind for event in events if event.job is not None and event.job.id == job]

    def close(self) -> None:
        self.watch.stop()
        self._thread.join(PATIENCE_HOST_S)
        self.watch.close()


@pytest.fixture
def server(setup) -> Iterator[Server]:
    server = Server(setup)
    yield server
    server.stop()


@pytest.fixture
def watcher(setup, server) -> Iterator[Watcher]:
    watcher = Watcher(setup, server)
    yield watcher
    watcher.close()


def test_a_job_passes_through_its_states(setup, watcher):
    job = setup.submit(4, 2, name="pair")
    setup.started(job, setup.east)
    watcher.until(lambda moment: moment.running == 1)
    moment = watcher.watch.moment()
    assert [(part.cluster, part.processors) for part in moment.active[0].components] == [("east", 4), ("west", 2)]
    assert [(use.executing, use.idle, use.local) for use in moment.clusters] == [(4, 4, 0), (2, 6, 0)]
    setup.east.programs[-1].finish()
    watcher.until(lambda moment: moment.ended.get(JobState.FINISHED) == 1)
    moment = watcher.watch.moment()
    assert (moment.active, [job.specification.name for job in moment.last_ended]) == ((), ["pair"])
    assert [use.idle for use in moment.clusters] == [8, 8]
    assert watcher.kinds(job) == [
        EventKind.SUBMITTED,
        EventKind.PLACED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.CLAIMED,
        EventKind.STARTED,
        EventKind.FINISHED,
    ]


def test_a_claim_that_waits_is_set_aside_and_one_that_is_held_is_claimed(setup, watcher):
    setup.west.holds_back = True
    setup.submit(4, 2)
    watcher.until(lambda moment: moment.clusters[0].claimed == 4)
    assert watcher.watch.moment().clusters[1].set_aside == 2
    assert watcher.watch.moment().clusters[1].idle == 8


def test_the_queue_has_tries_and_a_reason_why_its_head_waits(setup, watcher):
    setup.submit(8, 4)
    waiting = setup.submit(8, 8, name="large")
    setup.submit(8, 6)
    watcher.until(lambda moment: len(moment.waiting) == 2 and moment.waiting[0].tries > 0)
    moment = watcher.watch.moment()
    assert moment.is_ordered
    assert moment.waiting[0].job.id == waiting
    assert moment.why_first_waits == "It asks for 16 processors; only 4 are idle in all clusters."


def test_who_begins_to_watch_late_sees_what_is_there(setup, server):
    ended = setup.submit(2)
    setup.started(ended, setup.east)
    setup.east.programs[-1].finish()
    setup.until_state(ended, JobState.FINISHED)
    running = setup.submit(4)
    setup.until(lambda: len(setup.east.programs) + len(setup.west.programs) == 2)
    setup.submit(8, 8)
    watcher = Watcher(setup, server)
    watcher.until(lambda moment: moment.waiting_in_all == 1)
    moment = watcher.watch.moment()
    assert ([job.id for job in moment.active], moment.all_ended) == ([running], 1)
    assert watcher.said[0] == Began(moment.run, 1, 1)
    watcher.close()


def test_processors_that_are_neither_idle_nor_held_are_others(setup, watcher):
    setup.east.others = 3
    setup.read_clusters()
    watcher.until(lambda moment: moment.clusters[0].local == 3)
    assert [use.idle for use in watcher.watch.moment().clusters] == [5, 8]
    assert not watcher.watch.moment().splits_background


def test_a_cluster_that_does_not_answer_is_shown_as_such(setup, watcher):
    setup.west.fall_silent()
    watcher.until(lambda moment: [use.answers for use in moment.clusters] == [True, False])


def test_another_run_is_followed_from_its_beginning(setup, watcher):
    setup.submit(2)
    setup.until(lambda: setup.east.programs or setup.west.programs)
    (setup.east.programs or setup.west.programs)[-1].finish()
    watcher.until(lambda moment: moment.all_ended == 1)
    run = begin_fast_run(setup, name="campaign")
    watcher.until(lambda moment: moment.run.id == run)
    job = setup.submit(2, run=run)
    watcher.until(lambda moment: len(moment.active) == 1)
    assert watcher.watch.moment().all_ended == 0
    assert EventKind.SUBMITTED in watcher.kinds(job)
    assert [news.run.id for news in watcher.said if isinstance(news, Began)] == [0, run]


def test_a_run_that_has_ended_stays_in_view_until_another_job_comes(setup, watcher):
    run = begin_fast_run(setup, name="campaign")
    watcher.until(lambda moment: moment.run.id == run)
    setup.broker.end_run(run)
    watcher.until(lambda moment: moment.has_ended)
    time.sleep(1.5)  # a status is asked for meanwhile
    assert watcher.watch.moment().run.id == run
    setup.submit(2)
    watcher.until(lambda moment: moment.run.id == 0 and len(moment.active) == 1)


def test_the_emulated_time_passes_with_the_run(setup, watcher):
    run = begin_fast_run(setup)
    watcher.until(lambda moment: moment.run.id == run and moment.now_s > 10.0)  # 0.2 s of this host
    assert watcher.watch.moment().now_s < 50 * PATIENCE_HOST_S


def test_notes_of_the_recorder_are_lights_progress_and_background(setup, server, watcher):
    run = begin_fast_run(setup)
    watcher.until(lambda moment: moment.run.id == run)
    reason = PageReason(topic="host", sentence="tasks waited for a processor")
    facts = (
        RunNote(jobs=20, band=(0.15, 0.2)),
        RunNote(check=CheckNote(moment="before", verdict="valid")),
        RunNote(verdict=VerdictNote(job=1, verdict="suspect", reasons=(reason,))),
        RunNote(verdict=VerdictNote(job=2, verdict="valid")),
        RunNote(background=BackgroundNote(time_s=1.0, cluster="west", dummy=2, local=1)),
    )
    with BrokerClient(server.url, TOKEN) as recorder:
        assert recorder.send_notes(run, NotesRequest(first=0, notes=facts)).is_watched
    watcher.until(lambda moment: moment.splits_background)
    moment = watcher.watch.moment()
    lights = {light.topic: (light.verdict, light.jobs) for light in moment.lights}
    assert lights == {
        Topic.PHASES: ("valid", 0),
        Topic.HOST: ("suspect", 1),
        Topic.LINKS: ("valid", 0),
        Topic.BACKGROUND: ("", 0),
        Topic.JOBS: ("valid", 0),
    }
    assert moment.lights[1].reasons == (("tasks waited for a processor", 1),)
    assert (moment.expected_jobs, moment.verdicts) == (20, {1: "suspect", 2: "valid"})
    assert [(use.dummy, use.local) for use in moment.clusters] == [(0, 0), (2, 1)]


def test_a_broker_that_comes_back_is_caught_up_with(setup, server, watcher):
    server.stop()
    setup.until(lambda: watcher.watch.loss is not None)
    job = setup.submit(2, name="meanwhile")
    watcher.server = back = Server(setup, server.port)
    watcher.until(lambda moment: [job.specification.name for job in moment.active] == ["meanwhile"])
    assert watcher.watch.loss is None
    assert EventKind.SUBMITTED in watcher.kinds(job)
    (lost,) = [news for news in watcher.said if isinstance(news, Lost)]
    assert "does not answer" in lost.reason
    assert [type(news) for news in watcher.said if isinstance(news, Lost | Back)] == [Lost, Back]
    watcher.close()
    back.stop()


def test_a_token_that_is_refused_is_a_loss_with_its_reason(setup, server, watcher):
    watcher.token = "another"
    server.stop()
    setup.until(lambda: watcher.watch.loss is not None)
    watcher.server = back = Server(setup, server.port)
    setup.until(lambda: len([news for news in watcher.said if isinstance(news, Lost)]) == 2)
    assert watcher.watch.loss is not None
    watcher.close()
    back.stop()


def test_a_watch_that_cannot_begin_says_why():
    watch = Watch(lambda: BrokerClient("http://127.0.0.1:9", TOKEN))
    with pytest.raises(TestbedNotUp, match="does not answer"):
        watch.begin()
    watch.close()


def _take_terminal() -> None:
    """Make standard input the terminal whose Ctrl-C interrupts this process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Typed:
    """`testbed watch` as a process, with a terminal of 100 by 30 characters or with a pipe."""

    def __init__(self, url: str, *, terminal: bool, **environment: str) -> None:
        script = (
            "from emulator.cli import watch; from emulator.cli.main import main; from emulator.client import *\n"
            f"watch.broker_of = lambda name: BrokerClient({url!r}, {TOKEN!r})\nmain()"
        )
        self.written = b""
        self.reads, shown = pty.openpty() if terminal else os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, "watch"],
            cwd=PROJECT_ROOT,
            stdin=shown if terminal else subprocess.DEVNULL,
            stdout=shown,
            stderr=subprocess.PIPE,
            env=os.environ | {"COLUMNS": "100", "LINES": "30", "TERM": "xterm-256color"} | environment,
            start_new_session=True,
            preexec_fn=_take_terminal if terminal else None,
        )
        os.close(shown)

    def until_written(self, *parts: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_HOST_S
        while not all(part in self.written for part in parts):
            assert time.monotonic() < deadline, self.written
            if select.select([self.reads], [], [], 0.1)[0]:
                self.written += os.read(self.reads, 65_536)

    def type(self, keys: bytes) -> None:
        os.write(self.reads, keys)

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and what it wrote to standard error."""
        reading = threading.Thread(target=self._read_rest, daemon=True)
        reading.start()
        _, said = self._process.communicate(timeout=PATIENCE_HOST_S)
        reading.join(PATIENCE_HOST_S)
        os.close(self.reads)
        return self._process.returncode, said.decode()

    def wait(self) -> None:
        """Wait for its end; what it writes fits into the terminal's buffer."""
        self._process.wait(PATIENCE_HOST_S)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read_rest(self) -> None:
        try:
            while part := os.read(self.reads, 65_536):
                self.written += part
        except OSError:  # the end of a terminal
            return


@pytest.fixture
def type_watch(server) -> Iterator[Callable[..., Typed]]:
    """Yield a function that starts `testbed watch`; what it started ends with the test."""
    begun: list[Typed] = []

    def start(*, terminal: bool, **environment: str) -> Typed:
        begun.append(Typed(server.url, terminal=terminal, **environment))
        return begun[-1]

    yield start
    for typed in begun:
        typed.close()


SCREEN_ON, SCREEN_OFF, CURSOR_ON = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"


@pytest.mark.parametrize("quits", [b"q", b"\x04"], ids=["q", "Ctrl-D"])
def test_a_key_quits_and_leaves_the_terminal_as_it_was(quits, setup, type_watch):
    setup.submit(8, 4, name="held")
    setup.submit(8, 8, name="large")
    typed = type_watch(terminal=True)
    typed.until_written(SCREEN_ON, b"large", b"held", b"1 job waits")
    typed.type(b"x")
    typed.type(quits)
    assert typed.ended() == (0, "")
    assert typed.written.rindex(SCREEN_OFF) > typed.written.rindex(b"held")
    assert CURSOR_ON in typed.written


def test_an_interrupt_ends_the_screen_too(type_watch):
    typed = type_watch(terminal=True)
    typed.until_written(b"No job waits.")
    typed.type(b"\x03")
    code, said = typed.ended()
    assert (code, said) == (130, "testbed: interrupted; what was begun is cleaned up.\n")
    assert SCREEN_OFF in typed.written


def test_a_terminal_reads_lines_again_afterwards(type_watch):
    typed = type_watch(terminal=True)
    before = termios.tcgetattr(typed.reads)
    typed.until_written(b"No job waits.")
    assert termios.tcgetattr(typed.reads) != before
    typed.type(b"q")
    typed.wait()
    assert termios.tcgetattr(typed.reads) == before


@pytest.mark.parametrize("terminal", [False, True])
def test_where_there_is_no_screen_each_change_of_a_job_is_a_line(setup, type_watch, terminal):
    typed = type_watch(terminal=terminal, TERM="dumb")
    typed.until_written(b"outside of runs: policy by-kind")
    job = setup.submit(4, 2, name="pair")
    setup.started(job, setup.east)
    typed.until_written(b"started on 4 east+2 west")
    typed.send(signal.SIGINT)
    code, _ = typed.ended()
    assert code == 130
    lines = typed.written.decode().replace("\r", "").splitlines()
    assert [line.split("s  ", 1)[1] for line in lines if "job 1" in line][:2] == [
        "job 1 pair: submitted, asks for 4+2 non-fixed (poisson)",
        "job 1 pair: placed on 4 east+2 west after 1 try",
    ]
    assert b"\x1b" not in typed.written
