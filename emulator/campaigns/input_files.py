"""The files that a campaign's jobs read: what policies see of them before anything ran, and those of a live run.

A live run has them made at the sites that its seed draws, the very sites of the simulated run, before its clock starts,
and removes them when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from emulator.campaigns.holding import uninterrupted
from emulator.client import BrokerClient
from emulator.model.errors import TestbedError
from emulator.model.files import FileRegistration
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast, stated_bytes_per_s
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.state import NOTHING_ELSE, FileState, Surroundings
from workloads.campaign_stream import InputFile

REGISTRATIONS_AT_ONCE = 4


def stated_surroundings(topology: Topology, files: Mapping[str, InputFile]) -> Surroundings:
    """What policies see of `files` before any transfer; Close-to-Files begins with its history complete."""
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
    """Have `files` made at their sites meanwhile.

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
