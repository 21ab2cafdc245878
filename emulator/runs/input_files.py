"""The files that a campaign's jobs read: as policies see them before anything ran, and those of a live run.

A live run makes them before its clock starts, at the sites that its seed draws (the same as in the simulated run), and
removes them when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from emulator.client import BrokerClient
from emulator.model.errors import TestbedError
from emulator.model.files import FileRegistration
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast, stated_bytes_per_s
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.state import NOTHING_ELSE, FileState, Surroundings
from emulator.runs.holding import uninterrupted
from workloads.campaign_stream import InputFile

REGISTRATIONS_AT_ONCE = 4


def stated_surroundings(topology: Topology, files: Mapping[str, InputFile]) -> Surroundings:
    """Return what policies see of `files` before any transfer; the history of Close-to-Files begins complete."""
    if not files:
        return NOTHING_ELSE
    clusters = len(topology.clusters)
    return Surroundings(
        files={name: FileState(file.sites, file.size_bytes) for name, file in files.items()},
        bandwidth_bytes_per_s=BandwidthForecast(clusters, stated_bytes_per_s(topology)).bytes_per_s(),
        history=every_pair(clusters),
    )


@contextmanager
def registered(client: BrokerClient, topology: Topology, files: Mapping[str, InputFile], seed: int) -> Iterator[None]:
    """Make `files` at their sites, and remove them at the end of the context.

    Raises:
        InvalidInput: if one of their names is taken.
        TransferFailed: if one could not be made.
    """
    made: list[str] = []

    def register(name: str) -> None:
        file = files[name]
        sites = tuple(topology.cluster_names[site] for site in file.sites)
        size_bytes = max(1, round(file.size_bytes))
        client.register_file(FileRegistration(name=name, size_bytes=size_bytes, sites=sites, seed=seed))
        made.append(name)

    try:
        with ThreadPoolExecutor(REGISTRATIONS_AT_ONCE) as pool:
            list(pool.map(register, files))
        yield
    finally:
        with uninterrupted(), ThreadPoolExecutor(REGISTRATIONS_AT_ONCE) as pool:
            failures = [failure for failure in pool.map(lambda name: _removed(client, name), list(made)) if failure]
    for failure in failures:
        raise failure


def _removed(client: BrokerClient, name: str) -> TestbedError | None:
    try:
        client.remove_file(name)
    except TestbedError as failure:
        return failure
    return None
