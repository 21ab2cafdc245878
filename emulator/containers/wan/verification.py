"""One verification under way: it programs what a round needs, has the probes carry the round out, and judges.

Programming is skipped where the wide area already is as a round needs it. What lies outside its tolerance is measured
again a few times, since the host does other work too: a wrong program stays wrong, a disturbance passes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from emulator.containers.events import Observer, Progress
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
from emulator.containers.wan.program import router_program
from emulator.containers.wan.rounds import (
    Pair,
    Triple,
    Wide,
    both_ways,
    delay_streams,
    directions,
    drain_s,
    lesser_rate_mbit,
    triples_into_each,
    turns_of_disjoint_pairs,
    turns_of_neighbours,
    two_into_one,
)
from emulator.containers.wan.router import Backend, Router
from emulator.containers.wan.schedule import Arrival, Stream, carry_out, host_rate_together_mbit
from emulator.containers.wan.stand import Stand
from emulator.containers.wan.wide_area import program_wide_area
from emulator.model.clock import Dilation
from emulator.model.topology import Topology

ATTEMPTS: Final = 3
"""How often a quantity is measured at most before it counts as outside its tolerance."""

CARRYING_ATTEMPTS: Final = 3
DOUBLINGS: Final = 6
LOADED_ATTEMPTS: Final = 3
"""At how many dilations all loads are tried; a fault that none of them cures is none of the router's speed."""

LIGHT_HOST_LOAD_MBIT: Final = 60.0
"""What the short form lets the router carry at once: a guest can, even on a busy host."""

OVERLOAD: Final = 1.1
"""Two sources fill a shared queue if they send this many times what it lets pass."""

Item = TypeVar("Item")


@dataclass
class Verification:
    """A verification of `topology` at `dilation`: what is programmed now, and how often something was repeated.

    Its access links are `shared` by all that crosses them, unless it is that of a control run.
    """

    stand: Stand
    topology: Topology
    dilation: Dilation
    observe: Observer
    shared: bool = True
    host_begun_s: float = field(default_factory=time.monotonic)
    repetitions: int = 0
    backend: Backend | None = None
    programmed: tuple[Dilation, bool] | None = None

    def program(self, dilation: Dilation, *, with_delays: bool = True) -> Wide:
        """Program the wide area unless it is so already; the access links only where the dilation changes."""
        before, self.programmed = self.programmed, None
        if before is None or before[0] != dilation:
            self.backend = program_wide_area(
                self.stand, self.topology, dilation, with_delays=with_delays, shared=self.shared
            )
        elif before[1] != with_delays:
            addresses = self.stand.addresses
            program = router_program(self.topology, dilation, addresses, with_delays=with_delays, shared=self.shared)
            Router(self.stand).apply(program)
        self.programmed = (dilation, with_delays)
        return Wide.at(self.topology, dilation, self.stand.addresses)

    def report(
        self,
        measurements: Sequence[LinkMeasurement],
        rate_dilation: Dilation,
        differences: Sequence[str] = (),
        *,
        carries_asked: bool = True,
    ) -> WideAreaReport:
        """Everything found, and how long it took until now."""
        return WideAreaReport(
            dilation=self.dilation,
            rate_dilation=rate_dilation,
            backend=self.backend or Router(self.stand).backend(),
            measurements=tuple(measurements),
            differences=tuple(differences),
            repetitions=self.repetitions,
            host_duration_s=time.monotonic() - self.host_begun_s,
            carries_asked=carries_asked,
        )

    def delays(self, packets: int) -> list[LinkMeasurement]:
        """The delay of every ordered pair, from medians with the delays set and without."""

        def measure(pairs: Sequence[Pair]) -> list[list[LinkMeasurement]]:
            streams = delay_streams(self.topology, pairs, packets)
            wide = self.program(self.dilation, with_delays=False)
            self._tell("measuring the delay of the path itself")
            own = self._carry_out(wide, streams)
            self.program(self.dilation)
            self._tell(f"measuring the delay of {len(pairs)} paths")
            delayed = self._carry_out(wide, streams)
            return [
                [delay_measurement(a, b, self.topology.path(a, b), set_.host_delay_s, bare.host_delay_s, self.dilation)]
                for (a, b), set_, bare in zip(pairs, delayed, own, strict=True)
            ]

        return self._repeated(self.topology.ordered_pairs, measure)

    def loaded(self) -> tuple[Dilation, list[LinkMeasurement]]:
        """What full and half-full links carry, at the smallest dilation at which the router keeps up.

        That is a power of two, not below the dilation asked, at which the fastest pair fills both directions, and then
        every measurement is within its tolerance. If there is none within reach, the last one tried and what it gave.
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
        """The first of `least`, twice that, and so on, at which the fastest pair fills both directions at once.

        If none within reach does, the last one tried; what is measured there will be outside its tolerance.
        """
        candidate = least
        for doubling in range(DOUBLINGS):
            candidate = Dilation(least.factor * 2**doubling)
            self._tell(f"looking whether the router carries full links at K={candidate.factor:g}")
            if self.carries(candidate):
                break
        return candidate

    def carries(self, dilation: Dilation) -> bool:
        """Whether the router carries both directions of the fastest pair at once at `dilation`."""
        wide = Wide.at(self.topology, dilation, self.stand.addresses)
        turns = turns_of_disjoint_pairs(self.topology.cluster_names, 1)
        if not turns:
            return True
        fastest = max(turns, key=lambda turn: sum(wide.carried_mbit(a, b) for a, b in directions(turn)))
        return any(
            all(measurement.within for measurement in self._flood(dilation, [fastest])[0])
            for _ in range(CARRYING_ATTEMPTS)
        )

    def light_dilation(self) -> Dilation:
        """The smallest power of two, not below the dilation asked, at which all links at once are a light load."""
        total_mbit = sum(cluster.access_link.up_mbit for cluster in self.topology.clusters)
        return power_of_two_not_below(Dilation(max(self.dilation.factor, total_mbit / LIGHT_HOST_LOAD_MBIT)))

    def light(self) -> tuple[Dilation, list[LinkMeasurement]]:
        """The rate of every access link at the light dilation, and at twice that if the router is too busy for it."""
        dilation = self.light_dilation()
        measurements = self.rates_of_links(dilation)
        if all(measurement.within for measurement in measurements):
            return dilation, measurements
        twice = Dilation(2 * dilation.factor)
        return twice, self.rates_of_links(twice)

    def rates(self, dilation: Dilation) -> list[LinkMeasurement]:
        """The rate of every ordered pair while the opposite direction is as busy, one pair at a time."""
        return self._flooded(dilation, turns_of_disjoint_pairs(self.topology.cluster_names, 1))

    def rates_of_links(self, dilation: Dilation) -> list[LinkMeasurement]:
        """The rate of every access link in both directions, disjoint pairs at once."""
        return self._flooded(dilation, turns_of_neighbours(self.topology.cluster_names))

    def losses(self, dilation: Dilation) -> list[LinkMeasurement]:
        """What every ordered pair loses at half its rate, two disjoint pairs at a time."""

        def measure(turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
            wide = self.program(dilation)
            self._tell("measuring losses at half load")
            arrivals = iter(self._carry_out(wide, both_ways(wide, turns, flood=False)))
            return [
                [loss_measurement(a, b, self.topology.path(a, b), next(arrivals)) for a, b in directions(turn)]
                for turn in turns
            ]

        return self._repeated(turns_of_disjoint_pairs(self.topology.cluster_names, 2), measure)

    def sharing(self, dilation: Dilation) -> list[LinkMeasurement]:
        """Per access link, two sources into it at once: their rates together, and how long the lesser one waits."""

        def measure(triples: Sequence[Triple]) -> list[list[LinkMeasurement]]:
            wide = self.program(dilation)
            self._tell("measuring two sources into one access link")
            arrivals = self._carry_out(wide, two_into_one(wide, triples))
            return [
                shared_link(wide, triple, arrivals[2 * number], arrivals[2 * number + 1])
                for number, triple in enumerate(triples)
            ]

        return self._repeated(triples_into_each(self.topology.cluster_names), measure)

    def _flooded(self, dilation: Dilation, turns: Sequence[Sequence[Pair]]) -> list[LinkMeasurement]:
        def measure(turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
            self._tell(f"measuring rates of {sum(map(len, turns))} pairs, both directions at once")
            return self._flood(dilation, turns)

        return self._repeated(turns, measure)

    def _flood(self, dilation: Dilation, turns: Sequence[Sequence[Pair]]) -> list[list[LinkMeasurement]]:
        wide = self.program(dilation)
        arrivals = iter(self._carry_out(wide, both_ways(wide, turns, flood=True)))
        return [
            [
                rate_measurement(a, b, Quantity.RATE, wide.carried_mbit(a, b), next(arrivals).host_rate_mbit, dilation)
                for a, b in directions(turn)
            ]
            for turn in turns
        ]

    def _carry_out(self, wide: Wide, streams: Sequence[Stream]) -> list[Arrival]:
        return carry_out(self.stand, streams, wide.host_drain_s(self.topology.cluster_names))

    def _repeated(
        self, items: Sequence[Item], measure: Callable[[Sequence[Item]], list[list[LinkMeasurement]]]
    ) -> list[LinkMeasurement]:
        """Measure all `items`, and again those of which something is outside its tolerance; the last result counts."""
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

    def _tell(self, detail: str) -> None:
        self.observe(Progress("wide area", detail))


def shared_link(wide: Wide, triple: Triple, flood: Arrival, lesser: Arrival) -> list[LinkMeasurement]:
    """What two sources got of one link together, and - if they overload it - how long the lesser one waited."""
    first, second, target = triple
    link_mbit = wide.topology.cluster(target).access_link.down_mbit
    passed = 1 - wide.topology.path(second, target).loss
    offered_mbit = wide.carried_mbit(first, target) + passed * lesser_rate_mbit(wide, second, target)
    sources = f"{first}+{second}"
    host_rate_mbit = host_rate_together_mbit([flood, lesser])
    measured = [
        rate_measurement(
            sources, target, Quantity.SHARED_RATE, min(link_mbit, offered_mbit), host_rate_mbit, wide.dilation
        )
    ]
    if offered_mbit >= OVERLOAD * link_mbit:
        delay_s = math.nan if lesser.host_settled_delay_s is None else lesser.host_settled_delay_s
        wait_s = delay_s - wide.host_delay_s(second, target)
        measured.append(wait_measurement(second, target, drain_s(wide.down(target)), wait_s, wide.dilation))
    return measured
