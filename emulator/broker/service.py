"""The broker's public methods: it takes runs and jobs, shows them, and watches its clusters.

Every public method may be called from any thread; each hands its work to the loop, which owns all state. Health,
readings and whether a run exists are published by the loop after each piece of work, so no reader waits for them. Other
parts do the work itself: `registry` holds runs and jobs, `submissions` admits jobs, `scheduling` runs them,
`cancellation` ends them early.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from emulator.broker.cancellation import Cancellation
from emulator.broker.deciding import Deciding, deciding
from emulator.broker.files.catalogue import Catalogue
from emulator.broker.files.registry import FileRegistry
from emulator.broker.files.replicas import Replicas
from emulator.broker.loop import Loop
from emulator.broker.readings import ClusterReading
from emulator.broker.recovery import PATIENCE_HOST_S, Recovery
from emulator.broker.scheduling import Scheduling
from emulator.broker.state.journal import Journal
from emulator.broker.state.registry import RunRegistry, unknown_job
from emulator.broker.status import BrokerHealth, cluster_views, waiting_jobs
from emulator.broker.submissions import Submissions
from emulator.clusters.file_server import FileServer
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager
from emulator.model.errors import PolicyFailed, TestbedNotUp, UnknownName
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.views import ClusterView, EventKind, JobView, QueueEntryView, RunRequest, RunView, Submission

log = logging.getLogger(__name__)
CATALOGUE_FILE = "files.sqlite"
"""Beside the journal."""
END_TIMEOUT_HOST_S = 60.0
STOP_TIMEOUT_HOST_S = 4.0
"""Host seconds for the release of what is held when the broker stops: the engine kills it 10 s after it asked."""
END_POLL_HOST_S = 0.05
VIEW_AGE_HOST_S = 1.0
"""Host seconds for which viewers get the same reading of a cluster."""


class Broker:
    """A co-allocating scheduler over `managers` and `file_servers`, both in the topology's order.

    Users register and remove files through `files`.
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
        hosts = {head.cluster: head.host for head in settings.heads}
        self._replicas = Replicas(topology, file_servers, catalogue, hosts)
        self._scheduling = Scheduling(topology, managers, settings, journal, self._replicas)
        self._loop = Loop(self._host_until_due_s, self._decide_due_runs, self._publish)
        self._journal = journal
        self._registry = RunRegistry(topology, journal)
        self.files = FileRegistry(topology, file_servers, self._replicas, self._loop.call, self._registry.needed_files)
        self._recovery = Recovery(topology, self._scheduling)
        self._cancellation = Cancellation(self._registry, self._scheduling, self._recovery, journal)
        self._submissions = Submissions(
            topology, journal, self._scheduling, self._replicas, self._registry, self._loop.post
        )
        newest = self._registry.last_run_number
        self._health = BrokerHealth(unreachable=tuple(topology.cluster_names), last_run=newest)

    def open(self) -> None:
        """Start the loop and watch the clusters."""
        self._scheduling.open(self._loop.post, lambda: self._registry.running, self._cancellation.end_runs_if_empty)
        self._replicas.open(self._scheduling.post_in_time)
        self._loop.post(self._recover)
        self._loop.open()
        for manager in self._managers:
            manager.watch(partial(self._on_allocation, manager), partial(self._on_reachable, manager))

    def close(self) -> None:
        """Stop, and release all processors; runs and jobs stay in the journal, as if the broker had been killed."""
        self._loop.close()
        self._scheduling.supervisor.close()
        self._release_all()
        self._registry.close()
        self._replicas.close()
        for manager in self._managers:
            manager.close()
        self._scheduling.readings.close()

    @property
    def topology(self) -> Topology:
        """The topology that the clusters belong to."""
        return self._topology

    def health(self) -> BrokerHealth:
        """Get which clusters do not answer, and whether jobs of a former broker still wait for theirs; at once."""
        return self._health

    def _release_all(self) -> None:
        """Release what is held in each cluster, for a limited time; the next broker finds what is left."""
        threads = [
            threading.Thread(target=_release_held, args=(manager,), name=f"stop-{manager.cluster}", daemon=True)
            for manager in self._managers
        ]
        for thread in threads:
            thread.start()
        deadline_host_s = time.monotonic() + STOP_TIMEOUT_HOST_S
        for thread in threads:
            thread.join(max(0.0, deadline_host_s - time.monotonic()))

    def unreachable(self) -> list[str]:
        """Get, at once, the names of the clusters without a connection."""
        return list(self._health.unreachable)

    def is_recovering(self) -> bool:
        """Return, at once, whether jobs of a former broker still wait until their clusters are found."""
        return self._health.is_recovering

    def readings(self) -> tuple[ClusterReading, ...]:
        """Get the clusters as they were last read; at once."""
        return self._scheduling.readings.snapshot

    def malformed_events(self) -> Mapping[str, int]:
        """Get, at once, how many events of each cluster could not be read."""
        return {manager.cluster: manager.malformed_events for manager in self._managers}

    def fault(self) -> str:
        """Get why the broker is degraded, that is, why its disk cannot be written for now; empty if it is not."""
        return self._journal.fault or self._scheduling.changes.fault

    def begin_run(self, request: RunRequest) -> RunView:
        """Begin a run, which then holds the testbed. What bandwidths transfers had before it is forgotten.

        Raises:
            TestbedBusy: if another run holds it, or jobs of the default run are unfinished.
            UnknownName: if its policy or queue does not exist.
            InvalidInput: if its own policy or queue cannot be loaded or used.
            JournalFailed: if the disk cannot be written.
        """
        self._loop.call(self._registry.check_free)
        made = deciding(request, self._topology)  # here and not on the loop, since it may have to start a process
        try:
            return self._loop.call(lambda: self._begin_run(request, made))
        except BaseException:
            made.close()
            raise

    def start_run(self, number: int) -> RunView:
        """Set the run's clock to zero; from now on it takes jobs. To start a run twice is no error.

        Raises:
            UnknownName: if there is no such run.
            TestbedNotUp: if it does not hold the testbed.
            PolicyFailed: if its policy or queue could not be loaded again after a restart of the broker.
        """
        return self._loop.call(partial(self._start_run, number))

    def end_run(self, number: int) -> RunView:
        """Cancel a run's unfinished jobs, wait until they are released, and release the testbed.

        Raises:
            UnknownName: if there is no such run.
            TestbedNotUp: if jobs could not be released in time.
        """
        self._loop.call(partial(self._cancellation.stop_run, number))
        deadline_host_s = time.monotonic() + END_TIMEOUT_HOST_S
        while self._loop.call(partial(self._cancellation.awaits_jobs, number)):
            if time.monotonic() > deadline_host_s:
                raise TestbedNotUp(
                    f"Run {number} has jobs that did not end within {END_TIMEOUT_HOST_S:.0f} s (`testbed jobs` shows "
                    "them): end it again with `testbed campaign stop`."
                )
            time.sleep(END_POLL_HOST_S)
        return self._loop.call(lambda: self._cancellation.end_run(number).view())

    def current_run(self) -> RunView | None:
        """Get the run that holds the testbed, if one does."""
        return self._loop.call(lambda: run.view() if (run := self._registry.current) else None)

    def shown_run(self) -> RunView:
        """Get the run that holds the testbed, else the default run."""
        return self._loop.call(lambda: (self._registry.current or self._registry.default_run).view())

    def check_run(self, number: int) -> None:
        """Check, at once, that there is a run of that number.

        Raises:
            UnknownName: if there is none.
        """
        if number > self._health.last_run:
            raise UnknownName(f"There is no run {number}.")

    def submit(self, submission: Submission) -> JobView:
        """Submit a job; it is recorded when this returns, and tried right after.

        Raises:
            InvalidInput: if it is invalid or could never run here.
            TestbedBusy: if it is for the default run while another run holds the testbed.
            TestbedNotUp: if its run is not running.
            KeyTaken: if another submission was made under its key.
        """
        return self.submit_async(submission).result()

    def submit_async(self, submission: Submission) -> Future[JobView]:
        """Submit a job without waiting; the future gets the job once it is durable, or the error."""
        return self._submissions.submit_async(submission)

    def cancel(self, number: int) -> JobView:
        """Cancel a job in whatever state it is; has no effect on a job that is ending already.

        Raises:
            UnknownName: if there is no such job.
            AlreadyEnded: if it has ended.
        """
        return self._loop.call(lambda: self._cancellation.cancel(number).view(self._topology))

    def job(self, number: int) -> JobView:
        """Get the job of that number.

        Raises:
            UnknownName: if there is none.
        """
        view = self._loop.call(lambda: job.view(self._topology) if (job := self._registry.find_job(number)) else None)
        if view is None:
            view = self._journal.last_view(number)
        if view is None:
            raise unknown_job(number)
        return view

    def jobs(self, run: int | None, after: int = 0, limit: int | None = None) -> list[JobView]:
        """Get the jobs of a run, or all, in order of submission: those numbered above `after`, at most `limit`.

        Raises:
            UnknownName: if there is no such run.
        """
        live = self._loop.call(partial(self._registry.live_views, run, after, limit))
        stored = self._journal.last_views(run, after, limit)
        # What the journal holds of a job that has ended meanwhile is newer.
        return [job if job.state.final else live.get(job.id, job) for job in stored]

    def queue(self) -> list[QueueEntryView]:
        """Get the waiting jobs of the run that holds the testbed, else of the default run, in the order of tries."""
        return self._loop.call(lambda: waiting_jobs(self._registry.current or self._registry.default_run))

    def output(self, number: int) -> tuple[str, str]:
        """Get the last part of a job's standard output and error so far; see `outputs`.

        Raises:
            UnknownName: if there is no such job.
        """
        self.job(number)
        return self._scheduling.supervisor.outputs.read(number)

    def clusters(self) -> list[ClusterView]:
        """Get the clusters as their local managers report them; a reading may be `VIEW_AGE_HOST_S` old."""
        readings = self._scheduling.readings
        if not readings.are_recent(VIEW_AGE_HOST_S):
            readings.await_round(self._loop.call(readings.ask))
        return cluster_views(self._topology, readings.snapshot)

    def _begin_run(self, request: RunRequest, made: Deciding) -> RunView:
        self._registry.check_free()
        self._replicas.forget_bandwidths()
        return self._registry.begin(request, made).view()

    def _start_run(self, number: int) -> RunView:
        run = self._registry.current_run(number)
        if run.clock is not None:
            return run.view()
        if run.failure:
            raise PolicyFailed(run.failure)
        with self._scheduling.changes.transaction():
            self._scheduling.changes.keep(run)
            clock = run.start()
            self._journal.store_origin(run.id, clock)
            self._scheduling.recorder.record(
                run, EventKind.RUN_STARTED, detail={"request": run.request.model_dump(mode="json")}
            )
        return run.view()

    def _publish(self) -> None:
        self._health = BrokerHealth(
            unreachable=tuple(self._scheduling.lost),
            silent=tuple(self._scheduling.readings.silent),
            is_recovering=self._recovery.is_active,
            last_run=self._registry.last_run_number,
        )

    def _host_until_due_s(self) -> float | None:
        waits_s = [self._scheduling.readings.host_until_due_s()]
        if self._is_degraded():
            waits_s.append(self._scheduling.changes.host_until_retry_s())
        else:
            waits_s += [self._scheduling.host_until_due_s(run) for run in self._registry.running]
        return min((wait_s for wait_s in waits_s if wait_s is not None), default=None)

    def _is_degraded(self) -> bool:
        return self._scheduling.changes.is_delayed or any(run.is_behind for run in self._registry.running)

    def _decide_due_runs(self) -> None:
        self._scheduling.tend()
        if self._is_degraded() and not self._mend_if_due():
            return
        failed: Exception | None = None
        for run in self._registry.running:
            try:
                self._scheduling.decide_due(run)
            except Exception as error:
                log.exception("what was due in run %d could not be done", run.id)
                failed = error
        if failed is not None:
            raise failed  # the loop then pauses, so that what fails at once again is not tried without end

    def _mend_if_due(self) -> bool:
        """Do what was delayed and undone because the journal failed, if that is due; returns whether all is done."""
        changes = self._scheduling.changes
        if changes.host_until_retry_s() > 0.0 or not changes.retry():
            return False
        for run in self._registry.running:
            self._scheduling.restore_behind(run)
        self._cancellation.end_runs_if_empty()
        return not self._is_degraded()

    def _recover(self) -> None:
        self._recovery.begin(self._registry.running)
        patience = threading.Timer(PATIENCE_HOST_S, self._loop.post, (self._give_up_recovery,))
        patience.daemon = True
        patience.start()
        self._cancellation.end_runs_if_empty()

    def _on_allocation(self, manager: LocalResourceManager, event: AllocationEvent) -> None:
        self._scheduling.supervisor.on_allocation(manager, event)

    def _on_cluster_found(self, cluster: str) -> None:
        self._scheduling.cluster_found(cluster)
        self._recovery.cluster_found(cluster)
        self._cancellation.end_runs_if_empty()

    def _give_up_recovery(self) -> None:
        self._recovery.give_up()
        self._cancellation.end_runs_if_empty()

    def _on_reachable(self, manager: LocalResourceManager, reachable: bool, reason: str) -> None:
        if reachable:
            # If this fails, the cluster counts as not found: its watcher gets the error and tries again.
            manager.release_all()
            lost = self.files.tidy(manager.cluster)
            if lost:
                self._scheduling.post_in_time(lambda: self._scheduling.files_lost(lost, self._registry.running))
            self._loop.post(partial(self._on_cluster_found, manager.cluster))
        else:
            self._loop.post(lambda: self._scheduling.cluster_lost(manager.cluster, reason, self._registry.running))


def _release_held(manager: LocalResourceManager) -> None:
    try:
        manager.release_all()
    except Exception as error:
        log.warning("cluster %s: what is held was not released: %s", manager.cluster, error)
