"""One verification in progress: it programs what a round needs, lets the probes run the round, and judges.

Programming is skipped if the wide area is already programmed as a round needs it. A quantity outside its tolerance is
measured again a few times, because the host does other work too: a wrong program stays wrong, a disturbance passes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import (
    LinkMeasurement,
    Quantity,
    WideAreaReport,
    delay_measurement,
    loss_measurement,
    power_of_two_not_below,
    rate_measurement,
    wait_measurement,
)
from emulator.containers.wan.program import between_hosts_s, router_program
from emulator.containers.wan.rounds import (
    DilatedTopology,
    Pair,
    Triple,
    circle,
    delay_streams,
    drain_s,
    in_turns,
    lesser_rate_mbit,
    triples_into_each,
    turns_of_disjoint_pairs,
    two_into_one,
)
from emulator.containers.wan.router import Backend, Router
from emulator.containers.wan.schedule import Arrival, Stream, carry_out, host_rate_together_mbit
from emulator.containers.wan.wide_area import program_wide_area
from emulator.model.clock import Dilation
from emulator.model.topology import Topology

ATTEMPTS: Final = 3
"""A quantity is measured at most this often before it counts as outside its tolerance."""

CARRYING_ATTEMPTS: Final = 3
DOUBLINGS: Final = 6
LOADED_ATTEMPTS: Final = 3
"""All loads are tried at this many dilations; a fault that none of them cures is not the router's speed."""

LIGHT_HOST_LOAD_MBIT: Final = 60.0
"""The load that the short form puts on the router: a guest can carry it, even on a busy host."""

SAME_LOAD: Final = 1e-9
"""Loads that differ by a smaller share are the same one."""

OVERLOAD: Final = 1.1
"""Two sources fill a shared queue if they send this many times what it lets pass."""

Item = TypeVar("Item")


@dataclass
class Verification:
    """A verification of `topology` at `dilation`, with the present program and the number of repetitions.

    Access links are `shared` by all traffic, except in control runs. `own` holds what small packets took on each path
    without its delay, until it is used.
    """

    handle: WanHandle
    topology: Topology
    dilation: Dilation
    observe: Observer
    shared: bool = True
    host_begun_s: float = field(default_factory=time.monotonic)
    repetitions: int = 0
    backend: Backend | None = None
    programmed: tuple[Dilation, bool] | None = None
    own: dict[Pair, Arrival] = field(default_factory=dict)

    def program(self, dilation: Dilation, *, with_delays: bool = True) -> DilatedTopology:
        """Program the wide area unless it is so already; the access links only where the dilation changes."""
        before, self.programmed = self.programmed, None
        if before is None or before[0] != dilation:
            self.backend = program_wide_area(
                self.handle,
                self.topology,
                dilation,
                with_delays=with_delays,
                shared=self.shared,
                again=before is not None,
            )
        elif before[1] != with_delays:
            program = router_program(
                self.topology,
                dilation,
                self.handle.addresses,
                host_underlay_s=self.handle.host_underlay_s,
                with_delays=with_delays,
                shared=self.shared,
            )
            router = Router(self.handle)
            (router.change if self.shared else router.apply)(program)
        self.programmed = (dilation, with_delays)
        return DilatedTopology.at(self.topology, dilation, self.handle.addresses)

    def report(
        self,
        measurements: Sequence[LinkMeasurement],
        rate_dilation: Dilation,
        differences: Sequence[str] = (),
        *,
        carries_asked: bool = True,
    ) -> WideAreaReport:
        """Return everything found, and how long it took until now."""
        return WideAreaReport(
            dilation=self.dilation,
            rate_dilation=rate_dilation,
            backend=self.backend or Router(self.handle).backend(),
            measurements=tuple(measurements),
            differences=tuple(differences),
            repetitions=self.repetitions,
            host_duration_s=time.monotonic() - self.host_begun_s,
            carries_asked=carries_asked,
        )

    def delays(self, packets: int) -> list[LinkMeasurement]:
        """Measure the delay of every ordered pair, from medians with the delays set and without."""

        def measure(pairs: Sequence[Pair]) -> list[list[LinkMeasurement]]:
            own = self._own_delays(pairs, packets)
            dilated = self.program(self.dilation)
            self._report(f"measuring the delay of {len(pairs)} paths")
            delayed = self._carry_out(dilated, delay_streams(self.topology, pairs, packets))
            return [
                [self._delay(pair, set_.host_delay_s, bare.host_delay_s)]
                for pair, set_, bare in zip(pairs, delayed, own, strict=True)
            ]

        return self._repeated(self.topology.ordered_pairs, measure)

    def _delay(self, pair: Pair, host_delay_s: float | None, host_own_s: float | None) -> LinkMeasurement:
        source, target = pair
        path = self.topology.path(source, target)
        between_s = between_hosts_s(self.topology, source, target, self.handle.host_underlay_s)
        return delay_measurement(source, target, path, host_delay_s, host_own_s, self.dilation, between_s)

    def _own_delays(self, pairs: Sequence[Pair], packets: int) -> list[Arrival]:
        """Return what packets took on `pairs` without delays: as found with the links, measured again in a repeat."""
        known = [self.own.pop(pair) for pair in pairs if pair in self.own]
        if len(known) == len(pairs):
            return known
        dilated = self.program(self.dilation, with_delays=False)
        self._report("measuring the delay of the path itself")
        return self._carry_out(dilated, delay_streams(self.topology, pairs, packets))

    def loaded(self) -> tuple[Dilation, list[LinkMeasurement]]:
        """Measure full and half-full links at the smallest dilation at which the router keeps up; return both.

        That is a power of two, not below the dilation asked for, at which the fastest pair fills both directions and
        every measurement is within its tolerance. If none of those tried is, the last one and its measurements.
        """
        dilation = power_of_two_not_below(self.dilation)
        measurements: list[LinkMeasurement] = []
        for _ in range(LOADED_ATTEMPTS):
            dilation = self.carrying_dilation(dilation)
            measurements = []
            for measure in (self.rates, self.sharing, self.losses):
                measurements += measure(dilation)
                if not all(measurement.within for measurement in measurements):
                    break
            else:
                return dilation, measurements
            dilation = Dilation(2 * dilation.factor)
        return Dilation(dilation.factor / 2), measurements

    def carrying_dilation(self, least: Dilation) -> Dilation:
        """Find the first of `least`, twice that, and so on, at which the fastest pair fills both directions at once.

        If none of those tried does, return the last one; its measurements will be outside their tolerance.
        """
        candidate = least
        for doubling in range(DOUBLINGS):
            candidate = Dilation(least.factor * 2**doubling)
            self._report(f"looking whether the router carries full links at K={candidate.factor:g}")
            if self.carries(candidate):
                break
        return candidate

    def carries(self, dilation: Dilation) -> bool:
        """Measure whether the router carries both directions of the fastest pair at once at `dilation`."""
        dilated = DilatedTopology.at(self.topology, dilation, self.handle.addresses)
        turns = turns_of_disjoint_pairs(self.topology.cluster_names, 1)
        if not turns:
            return True
        fastest = max(turns, key=lambda turn: sum(dilated.carried_mbit(a, b) for a, b in turn))
        return any(
            all(measurement.within for measurement in self._flood(dilation, [fastest])[0])
            for _ in range(CARRYING_ATTEMPTS)
        )

    def shows_carrying(self, light: Dilation) -> bool:
        """Return whether links that were right at `light`, all filled at once, show that the router carries full ones.

        They do if they loaded it as much as its fastest pair does at the dilation asked.
        """
        names = self.topology.cluster_names
        filled, asked = (
            DilatedTopology.at(self.topology, dilation, self.handle.addresses) for dilation in (light, self.dilation)
        )
        most_mbit = max((asked.host_load_mbit(turn) for turn in turns_of_disjoint_pairs(names, 1)), default=0.0)
        return filled.host_load_mbit(circle(names)) >= most_mbit * (1 - SAME_LOAD)

    def light_dilation(self) -> Dilation:
        """Return the smallest power of two, not below the dilation asked for, at which all links are a light load."""
        total_mbit = sum(cluster.access_link.up_mbit for cluster in self.topology.clusters)
        return power_of_two_not_below(Dilation(max(self.dilation.factor, total_mbit / LIGHT_HOST_LOAD_MBIT)))

    def light(self, packets: int) -> tuple[Dilation, list[LinkMeasurement]]:
        """Measure every access link's rate at the light dilation, or at twice that if the router is too busy for it.

        The first round also finds, with `packets` a path, what they take without delays.
        """
        dilation = self.light_dilation()
        measurements = self.rates_of_links(dilation, packets)
        if all(measurement.within for measurement in measurements):
            return dilation, measurements
        twice = Dilation(2 * dilation.factor)
        return twice, self.rates_of_links(twice, packets)

    def rates(self, dilation: Dilation) -> list[LinkMeasurement]:
        """Measure the rate of every ordered pair while the opposite direction is as busy, one pair at a time."""
        return self._flooded(dilation, turns_of_disjoint_pairs(self.topology.cluster_names, 1))

    def rates_of_links(self, dilation: Dilation, packets: int) -> list[LinkMeasurement]:
        """Measure the rate of every access link in both directions, all at once, without delays and losses of paths.

        Each pair shows the lesser of its sender's uplink and its receiver's downlink.
        """
        paths = self.topology.ordered_pairs

        def measure(turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
            dilated = self.program(dilation, with_delays=False)
            self._report(f"measuring rates of {sum(map(len, turns))} pairs")
            before = [] if self.own else delay_streams(self.topology, paths, packets)
            begin_s = max((stream.host_end_s for stream in before), default=0.0)
            arrivals = self._carry_out(dilated, [*before, *in_turns(dilated, turns, flood=True, begin_s=begin_s)])
            self.own.update(zip(paths, arrivals[: len(before)], strict=False))
            floods = iter(arrivals[len(before) :])
            return [
                [_rate(a, b, dilated.link_mbit(a, b), next(floods).host_rate_mbit, dilation) for a, b in turn]
                for turn in turns
            ]

        pairs = circle(self.topology.cluster_names)
        return self._repeated([pairs] if pairs else [], measure)

    def losses(self, dilation: Dilation) -> list[LinkMeasurement]:
        """Measure what every ordered pair loses at half its rate, two disjoint pairs at a time."""

        def measure(turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
            dilated = self.program(dilation)
            self._report("measuring losses at half load")
            arrivals = iter(self._carry_out(dilated, in_turns(dilated, turns, flood=False)))
            return [
                [loss_measurement(a, b, self.topology.path(a, b), next(arrivals)) for a, b in turn] for turn in turns
            ]

        return self._repeated(turns_of_disjoint_pairs(self.topology.cluster_names, 2), measure)

    def sharing(self, dilation: Dilation) -> list[LinkMeasurement]:
        """Measure two sources into each access link at once: their joint rate, and how long the lesser one waits."""

        def measure(triples: Sequence[Triple]) -> list[list[LinkMeasurement]]:
            dilated = self.program(dilation)
            self._report("measuring two sources into one access link")
            arrivals = self._carry_out(dilated, two_into_one(dilated, triples))
            return [
                shared_link(dilated, triple, arrivals[2 * number], arrivals[2 * number + 1])
                for number, triple in enumerate(triples)
            ]

        return self._repeated(triples_into_each(self.topology.cluster_names), measure)

    def _flooded(self, dilation: Dilation, turns: Sequence[Sequence[Pair]]) -> list[LinkMeasurement]:
        def measure(turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
            self._report(f"measuring rates of {sum(map(len, turns))} pairs")
            return self._flood(dilation, turns)

        return self._repeated(turns, measure)

    def _flood(self, dilation: Dilation, turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
        dilated = self.program(dilation)
        arrivals = iter(self._carry_out(dilated, in_turns(dilated, turns, flood=True)))
        return [
            [_rate(a, b, dilated.carried_mbit(a, b), next(arrivals).host_rate_mbit, dilation) for a, b in turn]
            for turn in turns
        ]

    def _carry_out(self, dilated: DilatedTopology, streams: Sequence[Stream]) -> list[Arrival]:
        return carry_out(self.handle, streams, dilated.host_drain_s(self.topology.cluster_names, streams))

    def _repeated(
        self, items: Sequence[Item], measure: Callable[[Sequence[Item]], list[list[LinkMeasurement]]]
    ) -> list[LinkMeasurement]:
        """Measure all `items`, and again those outside their tolerance; the last result counts."""
        results: dict[int, list[LinkMeasurement]] = {}
        pending = list(range(len(items)))
        for attempt in range(ATTEMPTS):
            if not pending:
                break
            self.repetitions += len(pending) if attempt else 0
            for number, measured in zip(pending, measure([items[i] for i in pending]), strict=True):
                results[number] = measured
            pending = [i for i in pending if not all(measurement.within for measurement in results[i])]
        return [measurement for number in sorted(results) for measurement in results[number]]

    def _report(self, detail: str) -> None:
        self.observe(ProgressStep("wide area", detail))


def _rate(a: str, b: str, asked_mbit: float, host_rate_mbit: float, dilation: Dilation) -> LinkMeasurement:
    return rate_measurement(a, b, Quantity.RATE, asked_mbit, host_rate_mbit, dilation)


def shared_link(dilated: DilatedTopology, triple: Triple, flood: Arrival, lesser: Arrival) -> list[LinkMeasurement]:
    """Return the rate of two sources into one link together, and the lesser one's wait if they overload the link."""
    first, second, target = triple
    link_mbit = dilated.topology.cluster(target).access_link.down_mbit
    passed = 1 - dilated.topology.path(second, target).loss
    offered_mbit = dilated.carried_mbit(first, target) + passed * lesser_rate_mbit(dilated, second, target)
    sources = f"{first}+{second}"
    host_rate_mbit = host_rate_together_mbit([flood, lesser])
    measured = [
        rate_measurement(
            sources, target, Quantity.SHARED_RATE, min(link_mbit, offered_mbit), host_rate_mbit, dilated.dilation
        )
    ]
    if offered_mbit >= OVERLOAD * link_mbit:
        delay_s = math.nan if lesser.host_settled_delay_s is None else lesser.host_settled_delay_s
        wait_s = delay_s - dilated.host_delay_s(second, target)
        measured.append(wait_measurement(second, target, drain_s(dilated.down(target)), wait_s, dilated.dilation))
    return measured
