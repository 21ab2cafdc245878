"""A standing testbed of containers as a run sees it: its broker, its wide area, its containers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from emulator.campaigns.holding import Testbed
from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.lifecycle import part_containers
from emulator.containers.state import StandState, standing
from emulator.containers.wan.stand import Stand
from emulator.containers.wan.wide_area import program_wide_area
from emulator.fidelity.measures import LinkCheck
from emulator.model.clock import Dilation
from emulator.model.records import LinkRow


@dataclass(frozen=True, slots=True)
class ContainerWideArea:
    """The wide area between the clusters' containers."""

    state: StandState
    stand: Stand

    def program(self, dilation: Dilation) -> str:
        """Set every link to `dilation`; returns what kind of router carries them."""
        return program_wide_area(self.stand, self.state.topology, dilation).shown

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        """Measure every link briefly at the dilation it is programmed to."""
        return LinkCheck(moment), []


@contextmanager
def testbed_named(name: str) -> Iterator[Testbed]:
    """The testbed called `name`, ready for a run.

    Raises:
        NotStanding: if it does not stand.
        EngineUnavailable: if Docker does not answer.
    """
    state = standing(name)
    docker_client = engine.connect()
    stand = Stand.of(docker_client, state.names, state.topology.cluster_names, state.addresses)

    def stopped_containers() -> list[str]:
        running = {
            container.name for container in engine.containers_of(docker_client, name) if container.status == "running"
        }
        return [part for part in part_containers(state) if part not in running]

    with BrokerClient(state.api_url, state.token) as client:
        yield Testbed(name, client, state.topology, ContainerWideArea(state, stand), stopped_containers)
