"""Run: ``python -m tests.bench.page``. How soon a job is on the screen, and what an open page costs the broker.

The broker is a process on one core of its own, over five full clusters of 80 processors; the page is in Debian's
Chromium, driven by Selenium. Jobs wait that cannot start, and others are submitted and cancelled, each of which is an
event. The broker's CPU is that with the page less that without it, beside the same events. A frame is late if the
browser drew it more than 50 ms after the one before. On Debian: `apt-get install chromium chromium-driver`; the extra
`bench` has Selenium.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver

from emulator.client import BrokerClient
from emulator.model.job import JobSpecification
from emulator.model.views import Submission
from tests.bench.broker_load import SPECIFICATION, RunningBroker, running_broker
from tests.bench.broker_program import TOKEN
from tests.browser.chromium import installed_browser

NAME = "bench"
JOB = Submission(specification=JobSpecification.model_validate(SPECIFICATION | {"name": NAME}))
LONGEST_HOST_S = 10.0
LATE_FRAME_MS = 50.0
COUNT_FRAMES = """
window.frames_ms = [];
let last = performance.now();
const drawn = (now) => { window.frames_ms.push(now - last); last = now; requestAnimationFrame(drawn); };
requestAnimationFrame(drawn);
"""
IN_QUEUE = "#queue"
IN_JOBS = "#jobs"
ROW = """
const button = document.querySelector(`${arguments[0]} button[aria-label^='Job ${arguments[1]},']`);
return button === null ? "" : button.closest("tr").textContent;
"""


class Events(threading.Thread):
    """Submits jobs and cancels them, `per_s` events a second in all, until told to stop."""

    def __init__(self, client: BrokerClient, per_s: float) -> None:
        super().__init__(daemon=True)
        self.stopped = threading.Event()
        self.sent = 0
        self._every_s = 1.0 / per_s
        self._client = client

    def run(self) -> None:
        """Submit, cancel, submit, and so on, each in its time."""
        due_s, job = time.monotonic(), None
        while not self.stopped.wait(max(0.0, due_s - time.monotonic())):
            if job is None:
                job = self._client.submit(JOB).id
            else:
                self._client.cancel(job)
                job = None
            self.sent += 1
            due_s += self._every_s


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """Open a browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = installed_browser()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,900"):
        options.add_argument(option)
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def events(client: BrokerClient, per_s: float) -> Iterator[Events]:
    """Keep sending events meanwhile."""
    sender = Events(client, per_s)
    sender.start()
    try:
        yield sender
    finally:
        sender.stopped.set()
        sender.join()


def share_of_core(broker: RunningBroker, host_s: float) -> float:
    """Return the share of a core that the broker uses in the next `host_s` seconds."""
    began_s, cpu_s = time.perf_counter(), broker.cpu_s()
    time.sleep(host_s)
    return (broker.cpu_s() - cpu_s) / (time.perf_counter() - began_s)


def until_shown_s(browser: webdriver.Chrome, place: str, job: int, text: str) -> float:
    """Return the seconds from now until the row of a job in `place` shows the text."""
    began_s = time.perf_counter()
    while time.perf_counter() < began_s + LONGEST_HOST_S:
        if text in browser.execute_script(ROW, place, job):
            return time.perf_counter() - began_s
        time.sleep(0.01)
    raise SystemExit(f"job {job} was not shown with {text!r} in {place} within {LONGEST_HOST_S:g} s")


def opened(browser: webdriver.Chrome, client: BrokerClient) -> None:
    """Open the page, and wait until it is live."""
    browser.get(f"{client.api_url}/#{client.page_code()}")
    time.sleep(3.0)


def way_to_the_screen(browser: webdriver.Chrome, client: BrokerClient, jobs: int, *, is_queue_full: bool) -> None:
    """Print how long it takes until jobs are shown as waiting and cancelled; a full queue shows only its first."""
    submitted_s, cancelled_s = [], []
    for _ in range(jobs):
        job = client.submit(JOB).id
        if not is_queue_full:
            submitted_s.append(until_shown_s(browser, IN_QUEUE, job, NAME))
        client.cancel(job)
        cancelled_s.append(until_shown_s(browser, IN_JOBS, job, "cancelled"))
    for what, taken_s in (("submitted", submitted_s), ("cancelled", cancelled_s)):
        if taken_s:
            figures = f"median {statistics.median(taken_s):.2f} s, longest {max(taken_s):.2f} s of {jobs}"
            print(f"  a {what} job is shown after {figures}", flush=True)


def main() -> None:
    """Time some jobs with nothing else to do, then fill the queue and measure beside events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queued", type=int, default=1_000)
    parser.add_argument("--events", type=float, default=20.0, help="events a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=20, help="jobs whose way to the screen is timed")
    options = parser.parse_args()
    with running_broker() as broker, BrokerClient(broker.url, TOKEN) as client:
        print("no other job:")
        with chromium() as browser:
            opened(browser, client)
            way_to_the_screen(browser, client, options.jobs, is_queue_full=False)
        broker.fill(options.queued)
        print(f"{options.queued:,} jobs wait, {options.events:g} events a second:")
        with events(client, options.events) as sender:
            alone = share_of_core(broker, options.seconds)
            with chromium() as browser:
                opened(browser, client)
                browser.execute_script(COUNT_FRAMES)
                watched = share_of_core(broker, options.seconds)
                frames_ms = browser.execute_script("return window.frames_ms")
                way_to_the_screen(browser, client, options.jobs, is_queue_full=True)
        late = sum(frame_ms > LATE_FRAME_MS for frame_ms in frames_ms)
        print(f"  the broker used {alone:.1%} of a core without the page, {watched:.1%} with it ({sender.sent} events)")
        print(f"  {len(frames_ms)} frames in {options.seconds:g} s, {late} late, the longest {max(frames_ms):.0f} ms")


if __name__ == "__main__":
    main()
