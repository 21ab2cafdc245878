"""The workload of a sweep of simulations: what all of them share, and all that they read, as a record keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import DEFAULT_TOPOLOGY, factor_tables, factors_named
from emulator.model.catalogue import GENERATED_FROM, topology_named
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.names import spelled
from emulator.model.project import CAMPAIGNS, DOCUMENT_SUFFIXES, locate
from emulator.model.topology import Topology
from emulator.policies.custom_code import RAISED
from emulator.policies.names import NODE_POLICIES, NODE_QUEUES, POLICIES, QUEUES, custom_file, entry_points_called
from emulator.simulator.study_streams import study_workloads
from workloads.campaign import Campaign

MOST_TEXT_BYTES: Final = 1_000_000
"""The largest file whose text a record holds; of a larger one, such as a long log, it holds the size and a digest."""


@dataclass(frozen=True, slots=True)
class SweptWorkload:
    """The workload that a sweep is about, and the options that all its simulations share; None: the workload's own.

    `factors` is one factor or the paths of tables, of which the rows of `grid` count. With `estimate_factor` the users'
    estimates are drawn, for each seed anew.
    """

    workload: str
    topology: str | None = None
    clusters: str | None = None
    jobs: int | None = None
    quota: float | None = None
    band: str | None = None
    replicas: int | None = None
    interarrival_factor: float | None = None
    time_scale: float | None = None
    middleware: bool | None = None
    factors: tuple[str, ...] = ()
    grid: int | None = None
    warm_up_jobs: int = 0
    estimate_factor: float | None = None
    jobs_per_link: int | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it is the stream of a published study."""
        return self.workload.lower() in study_workloads()

    def options(self, policy: str | None, queue: str | None, load: float | None, seed: int) -> SimulationOptions:
        """Return the options of one simulation; only the stream of a study has its load among them."""
        return SimulationOptions(
            topology=self.topology, clusters=self.clusters, policy=policy, queue=queue, quota=self.quota,
            band=self.band, replicas=self.replicas, interarrival_factor=self.interarrival_factor,
            time_scale=self.time_scale, jobs=self.jobs, load=load if self.is_stream else None,
            warm_up_jobs=self.warm_up_jobs, seed=seed, middleware=self.middleware,
            runtime=factors_named(self.factors, self.grid), estimate_factor=self.estimate_factor,
            jobs_per_link=self.jobs_per_link,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SweepInputs:
    """What the simulations of a sweep read: the name and the bytes of each file, and the topology.

    If the clusters are generated, it is the topology that they are made from. `lists` holds the job list of each seed,
    if each has its own. `packages` holds the name and version of each installed package that declares a policy or
    discipline which is used; the module that holds it is among the `files`.
    """

    files: tuple[tuple[str, bytes], ...]
    topology: Topology
    lists: tuple[tuple[str, bytes], ...] = ()
    packages: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """A digest of what simulations with any seed read, so that changed files give other cases."""
        digest = hashlib.sha256()
        for name, content in self.files:
            digest.update(name.encode() + b"\0" + content)
        for package in self.packages:
            digest.update("\0".join(package).encode() + b"\0")
        # The topology as it was read, because it may name a profile in another file.
        digest.update(self.topology.model_dump_json().encode())
        return digest.hexdigest()[:16]

    def digests(self, seeds: int) -> list[str]:
        """Return a digest of what simulations with each of the `seeds` read."""
        shared = self.digest
        if not self.lists:
            return [shared] * seeds
        read = (f"{shared} {name}\0".encode() + content for name, content in self.lists)
        return [hashlib.sha256(content).hexdigest()[:16] for content in read]

    def record(self) -> dict[str, Any]:
        """Return all of it as a record keeps it: of a file too large, or that is no text, without its text."""
        return {
            "inputs": self.digest,
            "files": [_file_record(name, content) for name, content in (*self.files, *self.lists)],
            "packages": dict(self.packages),
            "topology": self.topology.model_dump(mode="json"),
        }


def inputs_of(swept: SweptWorkload, schedulers: Iterable[str | None], seeds: Sequence[int] = (0,)) -> SweepInputs:
    """Return what the simulations of `swept` read under `schedulers`, the names of its policies and queues.

    They have these `seeds`.

    Raises:
        InvalidInput: if the campaign, the topology, or the job list of a seed cannot be read.
        UnknownName: if there is no such topology.
    """
    workload = _located("campaign", swept.workload, CAMPAIGNS)
    topology, named, log, listed = swept.topology, tuple(schedulers), None, None
    lists: tuple[tuple[str, bytes], ...] = ()
    if workload.suffix.lower() in DOCUMENT_SUFFIXES:
        # Without its jobs, which are read as a file: each case of a sweep asks for its inputs.
        campaign = read_document(locate("campaign", swept.workload, CAMPAIGNS), Campaign).located(workload.parent)
        named = (*named, campaign.policy, campaign.queue)
        topology = topology or (campaign.topology if swept.clusters is None else None)
        background = campaign.under_band(swept.band).background
        log = None if background is None else background.log
        if campaign.job_list is not None and campaign.has_list_per_seed:
            lists = tuple(_read_list(workload.parent / campaign.job_list.file_of(seed), seeds) for seed in seeds)
        elif campaign.job_list is not None:
            listed = workload.parent / campaign.job_list.file
    stated = [name for name in dict.fromkeys(named) if name is not None]
    own, installed = [*map(custom_file, stated), log, listed], [_installed(name) for name in stated]
    files = [workload, *(Path(file) for file in dict.fromkeys(own) if file is not None)]
    files += [*factor_tables(swept.factors), *dict.fromkeys(module for modules, _ in installed for module in modules)]
    if topology is None:
        is_generated = swept.clusters is not None or swept.is_stream
        topology = GENERATED_FROM if is_generated else DEFAULT_TOPOLOGY
    read = tuple((file.name, file.read_bytes()) for file in files if file.is_file())
    packages = dict.fromkeys(package for _, declaring in installed for package in declaring)
    return SweepInputs(read, topology_named(topology), lists, tuple(packages))


def _read_list(path: Path, seeds: Sequence[int]) -> tuple[str, bytes]:
    if not path.is_file():
        whose = f"each of the seeds {seeds[0]} to {seeds[-1]}"
        raise InvalidInput(f"{path}: there is no such file, and {whose} needs its job list.")
    return path.name, path.read_bytes()


def _installed(name: str) -> tuple[list[Path], list[tuple[str, str]]]:
    """Return the module of a policy or discipline that an installed package declares, and the package's version.

    Both are empty if `name` is not one of those.
    """
    is_testbeds = spelled(name, POLICIES | NODE_POLICIES | QUEUES | NODE_QUEUES) is not None
    if is_testbeds or custom_file(name) is not None:
        return [], []
    points = entry_points_called(name)[:1]
    modules = [module for point in points if (module := _module_file(point.module)) is not None]
    return modules, [(point.dist.name, point.dist.version) for point in points if point.dist is not None]


def _module_file(module: str) -> Path | None:
    try:
        found = find_spec(module)
    except RAISED:  # by the package that holds the module: whoever loads the policy says so
        return None
    return None if found is None or found.origin is None else Path(found.origin)


def _file_record(name: str, content: bytes) -> dict[str, Any]:
    return {
        "name": name,
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "text": _text(content),
    }


def _text(content: bytes) -> str | None:
    if len(content) > MOST_TEXT_BYTES:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _located(kind: str, name: str, folder: Path) -> Path:
    """Return the file that a name means; a job list, a log and a study's stream are not among the documents."""
    path = Path(name)
    if path.is_file():
        return path
    try:
        return locate(kind, name, folder)
    except UnknownName:
        return path
