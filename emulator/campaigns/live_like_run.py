"""A live campaign like a recorded one: the jobs that a live run submitted, with its policy, seed and dilation.

All of this is in the run's directory, with the sources of its own policies, so that an archived run can be repeated on
another host and by another version of the testbed. The file of its topology may not be there: the topology of the
testbed is compared with the one that the run recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.registry import check_program
from emulator.campaigns.like_run import recorded_arrivals
from emulator.campaigns.live import RecordedSchedule, admitting_on
from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE, SCHEDULE_FILE, Manifest, RunKind
from emulator.model.topology import Topology
from emulator.runs.folders import is_folder_of_runs, runs_in
from emulator.runs.holding import Testbed
from emulator.runs.input_files import stated_surroundings
from emulator.runs.run_directory import read_manifest
from emulator.runs.same_campaign import system_of
from workloads.campaign import Campaign, recorded_campaign
from workloads.campaign_stream import campaign_files
from workloads.schedule import Arrival


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded live campaign that is to be run again: its directory, its manifest, its campaign and its schedule."""

    path: Path
    manifest: Manifest
    campaign: Campaign
    arrivals: Sequence[Arrival]

    @property
    def seed(self) -> int:
        """The seed of its jobs, its background load and its scheduling."""
        return self.manifest.seed

    @property
    def sources(self) -> list[str]:
        """The names of the files whose text it holds, which is executed when it is run again."""
        return sorted(self.campaign.sources)

    def schedule_on(self, testbed: Testbed) -> RecordedSchedule:
        """Return its schedule, after checking that `testbed` is the system of the run, on which each job is possible.

        Raises:
            InvalidInput: if it is another system, or a job could never run there.
            UnknownName: if there is no such policy, application or cluster.
        """
        self._check_system(testbed.topology)
        self._check_jobs(testbed.topology)
        return RecordedSchedule(self.path.resolve().name, self.arrivals)

    def _check_system(self, topology: Topology) -> None:
        if system_of(self.manifest) != system_of(self.manifest.model_copy(update={"topology": topology})):
            raise InvalidInput(
                f"{self.path}: ran on topology {self.manifest.topology.name!r} as it then was, which is not what runs "
                f"({topology.name!r}): write the run's own to a file (`testbed export {self.path} --format topology "
                "--out FOLDER`), and bring it up (`testbed down`, `testbed up --topology FOLDER/topology.yaml`)."
            )

    def _check_jobs(self, topology: Topology) -> None:
        campaign, place = self.campaign, self.path / SCHEDULE_FILE
        admitting = admitting_on(topology, campaign, self.seed)
        files = campaign_files(campaign, topology, self.seed)
        surroundings = stated_surroundings(topology, files)
        for number, arrival in enumerate(self.arrivals, start=1):
            job = arrival.specification
            if job.file is not None and job.file not in files:
                raise InvalidInput(f"{place}, line {number}: file: its campaign has no file {job.file!r}.")
            if not job.command:
                check_program(job.application, job.arguments, job.processor_speed)
            admitting.admit(number, job, surroundings)


def recorded_run(path: Path) -> RecordedRun:
    """Read what the live run in `path` was, whether or not it came to its end.

    Raises:
        InvalidInput: if there is no live campaign, or its schedule cannot be read.
    """
    if is_folder_of_runs(path):
        raise InvalidInput(f"{path}: is a folder of runs: name one of them, such as {runs_in(path)[0]}.")
    manifest = read_manifest(path)
    if manifest.kind is not RunKind.CAMPAIGN:
        raise InvalidInput(f"{path}: is a {manifest.kind.value}; only a live campaign can be run again.")
    campaign = recorded_campaign(manifest.workload, source=f"{path / MANIFEST_FILE}: workload")
    return RecordedRun(path, manifest, campaign, tuple(recorded_arrivals(path, manifest.jobs)))
