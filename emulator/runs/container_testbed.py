"""A running testbed of containers as a run uses it: its broker, its wide area, its containers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from emulator.client import BrokerClient
from emulator.containers.hosts.connecting import engine_named, engine_of
from emulator.containers.hosts.underlay_reader import measure_underlay
from emulator.containers.image_contents import image_records
from emulator.containers.local_bursts import local_bursts_told
from emulator.containers.local_users import ContainerLocalUsers
from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.state import HostsRecord, state_folder, testbed_state
from emulator.containers.stopped_parts import StoppedParts
from emulator.containers.telemetry.container_telemetry import container_telemetry
from emulator.containers.wan.controls import Control
from emulator.containers.wan.handle import WanHandle, wan_handle
from emulator.containers.wan.measurements import LinkMeasurement, Quantity, WideAreaReport
from emulator.containers.wan.program import between_hosts_s
from emulator.containers.wan.router import Backend, Router
from emulator.containers.wan.traffic import TrafficLoad, carrying
from emulator.containers.wan.verification import ATTEMPTS
from emulator.containers.wan.verify import check_patiently, check_wide_area, verify_wide_area
from emulator.containers.wan.wide_area import program_wide_area, programmed_wide_area, resting_dilation
from emulator.fidelity.underlay import jitter_faults, underlay_faults
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import EngineUnavailable, InvalidInput, TestbedBusy, TestbedNotUp, WideAreaUnfaithful
from emulator.model.evidence import HOST_DELAY_TOLERANCE_S, LinkCheck, LinkFault
from emulator.model.records import LinkRow
from emulator.model.topology import Topology
from emulator.model.traffic import Flow
from emulator.model.underlay import Underlay, steadier
from emulator.model.views import RunRequest
from emulator.runs.following import HOST_PATIENCE_S
from emulator.runs.holding import Testbed, held

HOLDER_FILE: Final = "run.lock"
"""The file in a testbed's state folder that is locked by the process whose run holds the testbed."""

WHOLLY_WRONG: Final = 1.0
"""The relative error of what could not be measured, or should be zero and is not."""


@dataclass(frozen=True, slots=True)
class ContainerWideArea:
    """The wide area between the clusters' containers, or what a control leaves of it.

    Over several `hosts`, `underlays` measures what lies between them.
    """

    handle: WanHandle
    topology: Topology
    hosts: HostsRecord | None = None
    underlays: Callable[[], Mapping[str, Underlay]] = dict
    control: Control = Control.AS_ASKED

    def under(self, control: Control) -> ContainerWideArea:
        """Return this wide area with what `control` leaves of it.

        Raises:
            InvalidInput: if that is no delay, and the way between two hosts takes longer than a check tolerates.
        """
        if not control.delayed:
            self._check_near(control)
        return replace(self, control=control)

    def _check_near(self, control: Control) -> None:
        for source, target in self.topology.ordered_pairs:
            between_s = between_hosts_s(self.topology, source, target, self.handle.host_underlay_s)
            if between_s > HOST_DELAY_TOLERANCE_S:
                raise InvalidInput(
                    f"Between their hosts packets from {source} to {target} take {1e3 * between_s:.3g} ms, so that no "
                    f"links can be {control.value} (put all clusters on one host, or leave out --attribute)."
                )

    def is_guest(self) -> bool:
        """Return whether a guest's kernel carries the links."""
        return Router(self.handle).backend() is Backend.GUEST

    def program(self, dilation: Dilation) -> str:
        """Set every link to `dilation`, and return the kind of router that carries the links."""
        topology, shared = self.control.of(self.topology, dilation), self.control.shared
        return program_wide_area(self.handle, topology, dilation, shared=shared).shown

    def host_clocks_ahead_s(self) -> dict[str, float]:
        """Measure by how many host seconds the clock of clusters on other hosts is ahead of the central one's."""
        return {} if self.hosts is None else self.hosts.host_clocks_ahead_s(self.underlays())

    def timed(self, underlays: Mapping[str, Underlay] | None = None) -> WanHandle:
        """Return the handle with the hosts' clocks as `underlays` say, or as measured now."""
        if self.hosts is None:
            return self.handle
        found = self.underlays() if underlays is None else underlays
        return self.handle.with_clocks(self.topology.cluster_names, self.hosts.host_clocks_ahead_s(found))

    def rest(self) -> None:
        """Set every link as it is while no run holds the testbed."""
        self.program(resting_dilation(self.handle, self.topology))

    def carrying(self, flows: Sequence[Flow], dilation: Dilation) -> AbstractContextManager[TrafficLoad]:
        """Send background traffic at `dilation` inside the context."""
        return carrying(self.handle, self.topology, flows, dilation)

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        """Read back the program of the links, then measure every link briefly.

        Before a run, also find whether the router carries full links, unless it is a control run. A part that cannot be
        asked after a run is a fault of the check: the run is recorded all the same.

        Raises:
            TestbedNotUp: if a part cannot be asked before a run.
        """
        topology, shared = self.control.of(self.topology, dilation), self.control.shared
        # The rates of a control run may be more than the router forwards, and are no rates of the topology.
        carrying = moment == "before" and self.control is Control.AS_ASKED
        try:
            programmed = programmed_wide_area(self.handle, topology, shared=shared)
            underlays = self._settled_underlays(dilation)
            report = check_wide_area(self.timed(underlays), topology, dilation, carrying=carrying, shared=shared)
        except (WideAreaUnfaithful, EngineUnavailable, TestbedNotUp) as failure:
            if moment == "before" and isinstance(failure, TestbedNotUp):
                raise
            # What was measured so far is kept; its verdict says that the state of the links is unknown.
            return LinkCheck(moment, (LinkFault(f"the check itself ({str(failure).rstrip('.')})", WHOLLY_WRONG),)), []
        rows = [link_row(measurement, dilation, moment) for measurement in report.measurements]
        if programmed.is_for(dilation):
            faults = (*link_faults(report), *self._between_hosts(dilation, underlays))
            return LinkCheck(moment, faults, report.carries_asked, underlays), rows
        first = next(iter(programmed.differences), f"not at dilation {dilation.factor:g}")
        return LinkCheck(moment, (LinkFault(f"the program of the links ({first.rstrip('.')})", WHOLLY_WRONG),)), rows

    def _settled_underlays(self, dilation: Dilation) -> Mapping[str, Underlay]:
        """Measure what lies between the hosts, again while it jitters more than the links bear: other work passes."""
        found = self.underlays()
        for _ in range(ATTEMPTS - 1):
            if not jitter_faults(self.topology, dilation, self._clusters_of, found):
                break
            found = steadier(found, self.underlays())
        return found

    def _between_hosts(self, dilation: Dilation, now: Mapping[str, Underlay]) -> tuple[LinkFault, ...]:
        if self.hosts is None:
            return ()
        return underlay_faults(self.topology, dilation, self._clusters_of, self.hosts.underlays, now)

    @property
    def _clusters_of(self) -> dict[str, tuple[str, ...]]:
        """The clusters that each of several hosts carries."""
        return {} if self.hosts is None else {each.host.name: each.clusters for each in self.hosts.hosts}


@dataclass(frozen=True, slots=True)
class UnshapedWideArea:
    """The wide area where all clusters are real: nothing of it is programmed or measured."""

    def under(self, control: Control) -> UnshapedWideArea:
        """Return this wide area if `control` changes nothing.

        Raises:
            InvalidInput: if `control` changes anything: real links cannot be changed.
        """
        if control is not Control.AS_ASKED:
            raise InvalidInput(f"All clusters are real: nothing of their links can be {control.value}.")
        return self

    def is_guest(self) -> bool:
        """Return False: there is no router."""
        return False

    def program(self, dilation: Dilation) -> str:
        """Do nothing: there is no router."""
        return "none: all links are real"

    def host_clocks_ahead_s(self) -> dict[str, float]:
        """Return nothing: no cluster is on another host."""
        return {}

    def rest(self) -> None:
        """Do nothing: there is no router."""

    def carrying(self, flows: Sequence[Flow], dilation: Dilation) -> AbstractContextManager[TrafficLoad]:
        """Do nothing: there are no `flows` between real clusters (`flows_of`)."""
        return contextlib.nullcontext(TrafficLoad())

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        """Return a check without measurements and faults."""
        return LinkCheck(moment, ()), []


@contextmanager
def testbed_named(name: str) -> Iterator[Testbed]:
    """Yield the testbed called `name`, ready for a run.

    Raises:
        NotStanding: if it is not running.
        EngineUnavailable: if Docker does not answer.
    """
    state = testbed_state(name)
    docker_client = engine_of(state.record)
    images = image_records(docker_client, state.record.images)
    holder_file = state_folder(name) / HOLDER_FILE
    stopped_containers = StoppedParts(docker_client, state.containers, HOST_PATIENCE_S).found

    with BrokerClient(state.api_url, state.token) as client:
        if (emulated := state.topology.emulated) is None:
            unshaped = UnshapedWideArea()
            yield Testbed(
                name, client, state.topology, unshaped, stopped_containers, images=images, holder_file=holder_file
            )
            return
        handle, hosts = wan_handle(docker_client, state), state.record.hosts
        wide_area = ContainerWideArea(
            handle, emulated, hosts, partial(measure_underlay, docker_client, state, rates=False)
        )
        observed = partial(container_telemetry, docker_client, state.names, tuple(emulated.cluster_names))
        local_users = ContainerLocalUsers(docker_client, state)
        yield Testbed(
            name, client, state.topology, wide_area, stopped_containers, observed, images, local_users, holder_file,
            partial(local_bursts_told, docker_client, state), hosts,
        )  # fmt: skip


def clear_background(name: str) -> None:
    """Cancel the jobs of a background load whose command was killed, in the testbed called `name`."""
    ContainerLocalUsers(engine_named(name), testbed_state(name)).clear()


def verify(name: str, factor: float, observe: Observer = ignore) -> WideAreaReport:
    """Hold the testbed called `name`, and measure every link at a dilation of `factor` against its topology.

    Raises:
        InvalidInput: if `factor` is no dilation, or all clusters are real.
        TestbedBusy: if a run holds the testbed.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    request = validate({"name": "verify", "dilation": factor}, RunRequest, source="verify")
    with testbed_named(name) as testbed:
        wide_area = testbed.wide_area
        if not isinstance(wide_area, ContainerWideArea):
            raise InvalidInput(
                f"All clusters of the testbed {name!r} are real: no link is emulated, none can be verified."
            )
        for cluster in testbed.topology.real_clusters:
            observe(ProgressStep("unshaped", f"the links of {cluster.name} are real: nothing is measured of them"))
        with held(testbed, request):
            return verify_wide_area(wide_area.timed(), wide_area.topology, Dilation(factor), observe)


def check_if_free(name: str) -> WideAreaReport | None:
    """Hold the testbed called `name`, and check every link shortly as it is while no run holds the testbed.

    Return None if a run holds the testbed, if jobs are unfinished, or if no link is emulated.

    Raises:
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    request = validate({"name": "up", "dilation": 1}, RunRequest, source="up")
    with testbed_named(name) as testbed:
        wide_area = testbed.wide_area
        if not isinstance(wide_area, ContainerWideArea):
            return None
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(held(testbed, request))
            except TestbedBusy:
                return None
            emulated = wide_area.topology
            return check_patiently(wide_area.timed(), emulated, resting_dilation(wide_area.handle, emulated))


def link_row(measurement: LinkMeasurement, dilation: Dilation, moment: str) -> LinkRow:
    """Return the row of one measurement; a value that could not be measured is missing."""
    unit = next(unit for unit in ("s", "mbit", "loss") if measurement.quantity.value.endswith(unit))
    measured = None if math.isnan(measurement.measured) else measurement.measured
    return LinkRow.model_validate(
        {
            "moment": moment,
            "dilation": dilation.factor,
            "source": measurement.source,
            "target": measurement.target,
            "quantity": measurement.quantity.name.lower(),
            f"asked_{unit}": measurement.asked,
            f"measured_{unit}": measured,
            "within": measurement.within,
        }
    )


def link_faults(report: WideAreaReport) -> tuple[LinkFault, ...]:
    """Return the faults that a check found, as the verdict needs them."""
    return tuple(fault for failure in report.failures for fault in _faults(failure))


def _faults(failure: LinkMeasurement) -> list[LinkFault]:
    """Return the faults of a failed measurement: a wrong rate concerns jobs at either end, all else those between."""
    source, target, error = failure.source, failure.target, _relative_error(failure)
    what = f"{failure.quantity.name.lower().replace('_', ' ')} from {source} to {target}"
    if failure.quantity is Quantity.RATE:
        return [LinkFault(what, error, source=source), LinkFault(what, error, target=target)]
    return [LinkFault(what, error, source, target)]


def _relative_error(measurement: LinkMeasurement) -> float:
    if math.isnan(measurement.measured) or measurement.asked == 0:
        return WHOLLY_WRONG
    return abs(measurement.error) / measurement.asked
