"""The broker itself: it takes runs and jobs, shows them, and keeps its clusters watched.

Every public method may be called from any thread; each hands its work to the loop, which owns all state. What becomes
of the work is decided elsewhere: `register` knows runs and jobs, `admission` takes them, `scheduling` follows them to
their end, `ending` ends them before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from emulator.broker.admission import Admission
from emulator.broker.census import Tally, cluster_views, tally, waiting_jobs
from emulator.broker.ending import Ending
from emulator.broker.files.catalogue import Catalogue
from emulator.broker.files.registry import FileRegistry
from emulator.broker.files.replicas import Replicas
from emulator.broker.journal import Journal
from emulator.broker.loop import Loop
from emulator.broker.placing import ViewedOccupancies
from emulator.broker.recovery import PATIENCE_HOST_S, Recovery
from emulator.broker.register import Register
from emulator.broker.runs import Run
from emulator.broker.scheduling import Scheduling
from emulator.clusters.file_server import FileServer
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager
from emulator.model.errors import NotStanding, TestbedError
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.views import ClusterView, EventKind, JobView, QueueEntryView, RunRequest, RunView, Submission

log = logging.getLogger(__name__)
CATALOGUE_FILE = "files.sqlite"
"""Beside the journal."""
END_TIMEOUT_HOST_S = 60.0
END_POLL_HOST_S = 0.05


class Broker:
    """A co-allocating scheduler over `managers` and `file_servers`, which stand in the topology's order.

    `files` is where users register and remove files.
    """

    def __init__(
        self,
        topology: Topology,
        managers: Sequence[LocalResourceManager],
        settings: BrokerSettings,
        journal: Journal,
        file_servers: Sequence[FileServer] = (),
    ) -> None:
        self._topology = topology
        self._managers = managers
        catalogue = Catalogue(settings.journal_file.with_name(CATALOGUE_FILE))
        self._replicas = Replicas(topology, file_servers, catalogue)
        self._scheduling = Scheduling(topology, managers, settings, journal, self._replicas)
        self._viewed = ViewedOccupancies(managers)
        self._loop = Loop(self._host_until_scan_s, self._scan_due_runs)
        self._journal = journal
        self._register = Register(topology, journal)
        self.files = FileRegistry(topology, file_servers, self._replicas, self._loop.ask, self._register.wanted_files)
        self._recovery = Recovery(topology, self._scheduling)
        self._ending = Ending(self._register, self._scheduling, self._recovery, journal)
        self._admission = Admission(
            topology, journal, self._scheduling, self._replicas, self._register, self._loop.post
        )

    def open(self) -> None:
        """Begin to watch the clusters and to work."""
        self._scheduling.open(self._loop)
        self._replicas.open(self._loop.post)
        self._loop.post(self._recover)
        self._loop.open()
        for manager in self._managers:
            manager.watch(partial(self._on_allocation, manager), partial(self._on_reachable, manager))

    def close(self) -> None:
        """End every job and stop."""
        for number in self._loop.ask(lambda: self._register.unended):
            try:
                self.end_run(number)
            except TestbedError:
                log.exception("run %d was not ended; all else is closed", number)
        self._loop.ask(self._replicas.close)
        self._loop.close()
        for manager in self._managers:
            manager.close()
        self._scheduling.occupancies.close()
        self._viewed.close()

    def unreachable(self) -> list[str]:
        """Names of the clusters that do not answer."""
        return self._loop.ask(lambda: self._scheduling.lost)

    def is_recovering(self) -> bool:
        """Whether jobs that a former broker left behind still wait until their clusters are found."""
        return self._loop.ask(lambda: self._recovery.is_going_on)

    def begin_run(self, request: RunRequest) -> RunView:
        """Take hold of the testbed for a run.

        Raises:
            TestbedBusy: if another run holds it, or jobs of the standing run are unfinished.
            UnknownName: if its policy or queue does not exist.
        """
        return self._loop.ask(lambda: self._register.begin(request).view())

    def start_run(self, number: int) -> RunView:
        """Set the run's clock to zero and take its jobs from now on."""
        return self._loop.ask(partial(self._start_run, number))

    def end_run(self, number: int) -> RunView:
        """Cancel what is unfinished, wait until it is released, and let go of the testbed.

        Raises:
            UnknownName: if there is no such run.
            NotStanding: if jobs could not be released in time.
        """
        self._loop.ask(partial(self._ending.stop_run, number))
        deadline_host_s = time.monotonic() + END_TIMEOUT_HOST_S
        while self._loop.ask(lambda: bool(self._register.run(number).unfinished)):
            if time.monotonic() > deadline_host_s:
                raise NotStanding(f"Run {number} has jobs that did not end within {END_TIMEOUT_HOST_S:.0f} s.")
            time.sleep(END_POLL_HOST_S)
        return self._loop.ask(lambda: self._ending.end_run(number).view())

    def current_run(self) -> RunView | None:
        """The run that holds the testbed, if one does."""
        return self._loop.ask(lambda: run.view() if (run := self._register.current) else None)

    def check_run(self, number: int) -> None:
        """Make sure that there is a run of that number.

        Raises:
            UnknownName: if there is none.
        """
        self._register.run(number)

    def submit(self, submission: Submission) -> JobView:
        """Take a job; it is recorded when this returns, and tried right after.

        Raises:
            InvalidInput: if it cannot be meant or could never run here.
            TestbedBusy: if it is for the standing run while another holds the testbed.
            NotStanding: if its run is not running.
            KeyTaken: if another submission was made under its key.
        """
        return self.offer(submission).result()

    def offer(self, submission: Submission) -> Future[JobView]:
        """As `submit`, for those who do not stand and wait: the job comes when it is durable, or the error."""
        return self._admission.offer(submission)

    def cancel(self, number: int) -> JobView:
        """End a job wherever it is; to cancel one that is being ended changes nothing.

        Raises:
            UnknownName: if there is no such job.
            AlreadyEnded: if it has ended.
        """
        return self._loop.ask(lambda: self._ending.cancel(number).view(self._topology))

    def job(self, number: int) -> JobView:
        """The job with that number.

        Raises:
            UnknownName: if there is none.
        """
        return self._loop.ask(lambda: self._register.job(number).view(self._topology))

    def jobs(self, run: int | None, after: int = 0, limit: int | None = None) -> list[JobView]:
        """The jobs of a run, or all, in order of submission: those numbered above `after`, at most `limit`.

        Raises:
            UnknownName: if there is no such run.
        """
        return self._loop.ask(partial(self._register.page, run, after, limit))

    def queue(self) -> list[QueueEntryView]:
        """The waiting jobs of the run that holds the testbed, else of the standing one, as they would be tried."""
        return self._loop.ask(lambda: waiting_jobs(self._register.current or self._register.standing))

    def tally(self) -> Tally:
        """What is counted anew whenever somebody looks: how full the clusters and how long the queue are now."""
        occupancies = self._viewed.read(self.unreachable())
        return self._loop.ask(lambda: tally(self._topology, self._register.running, occupancies))

    def output(self, number: int) -> tuple[str, str]:
        """The last of what a job has written so far to its standard output and error; see `outputs`.

        Raises:
            UnknownName: if there is no such job.
        """
        self.job(number)
        return self._scheduling.outputs.read(number)

    def clusters(self) -> list[ClusterView]:
        """The clusters as their local managers report them now."""
        occupancies = self._viewed.read(self.unreachable())
        return cluster_views(self._topology, occupancies)

    def _start_run(self, number: int) -> RunView:
        run = self._register.current_run(number)
        clock = run.start()
        with self._journal.together():
            self._journal.keep_origin(run.id, clock.host_origin_s)
            self._scheduling.record(run, EventKind.RUN_STARTED, detail={"request": run.request.model_dump(mode="json")})
        return run.view()

    def _host_until_scan_s(self) -> float | None:
        waits = [wait_s for run in self._scanned() if (wait_s := run.host_until_due_s()) is not None]
        return min(waits, default=None)

    def _scan_due_runs(self) -> None:
        failed: Exception | None = None
        for run in self._scanned():
            try:
                self._scheduling.decide_due(run)
            except Exception as error:
                log.exception("what was due in run %d could not be done", run.id)
                failed = error
        if failed is not None:
            raise failed  # the loop then pauses, so that what fails at once again is not tried without end

    def _scanned(self) -> list[Run]:
        """The runs whose queues are looked through; none while no cluster answers, which would waste their tries."""
        return self._register.running if len(self._scheduling.lost) < len(self._managers) else []

    def _recover(self) -> None:
        self._recovery.begin(self._register.running)
        self._ending.end_emptied_run()
        patience = threading.Timer(PATIENCE_HOST_S, self._loop.post, (self._give_up_recovery,))
        patience.daemon = True
        patience.start()

    def _on_allocation(self, manager: LocalResourceManager, event: AllocationEvent) -> None:
        self._loop.post(partial(self._scheduling.on_allocation, manager, event))

    def _on_found(self, cluster: str) -> None:
        self._scheduling.cluster_found(cluster)
        self._recovery.found(cluster)
        self._ending.end_emptied_run()

    def _give_up_recovery(self) -> None:
        self._recovery.give_up()
        self._ending.end_emptied_run()

    def _on_reachable(self, manager: LocalResourceManager, reachable: bool, reason: str) -> None:
        if reachable:
            # If this fails the cluster was not found: the watcher that hears of it hangs up and looks for it again.
            manager.release_all()
            lost = self.files.tidy(manager.cluster)
            if lost:
                self._loop.post(lambda: self._scheduling.files_lost(lost, self._register.running))
            self._loop.post(partial(self._on_found, manager.cluster))
        else:
            self._loop.post(lambda: self._scheduling.cluster_lost(manager.cluster, reason, self._register.running))
