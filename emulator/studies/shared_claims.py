"""Claims C41 to C48, on non-dedicated clusters: the 3DBackfilling paper (3D).

Unless a claim is about the rules, it is decided under CCS, the rule of the paper's system. Its *2D policies* are read
as those that share nodes in space and time without backfilling, its gains as shares of the execution time under Linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from emulator.fidelity.intervals import Estimate, mean
from emulator.policies.nodes.compositions import COMPOSITIONS
from emulator.simulator.parallel_simulations import Outcome
from emulator.studies.shared_cases import MOST_BESIDE, latency_key
from emulator.studies.statements import (
    ABOUT_RESPONSE,
    Claim,
    ComparedCase,
    OpenPart,
    Quantity,
    Range,
    Ratio,
    RatioPart,
    ValuePart,
    WorkloadQueue,
    about,
    less,
)

EQUAL_TIMES: Final = 0.05
"""Within which share makespans are *equal* (C47), and up to which one backfilling does no *harm* (C46)."""

AROUND_A_GAIN: Final = 0.05
"""How far a ratio may lie from a printed gain, either way."""

WORKLOADS: Final = ("sit", "dit")
SHARING: Final = tuple(name for name, composition in COMPOSITIONS.items() if composition.most_jobs > 1)
LATENCY_CELL: Final = ("sit", "3dbf-light/ccs")
LATENCY_BELOW_S: Final = 0.4

EXECUTION, TURNAROUND, MAKESPAN = Quantity.EXECUTION, Quantity.TURNAROUND, Quantity.MAKESPAN


def ccs(workload: str, composition: str) -> WorkloadQueue:
    """Return the cell of a composition under CCS."""
    return workload, f"{composition}/ccs"


def linux(workload: str, composition: str) -> WorkloadQueue:
    """Return the cell of a composition under plain Linux."""
    return workload, f"{composition}/linux"


def shared_claims() -> Iterator[Claim]:
    """State C41 to C47; C48 needs what was simulated or measured (`latency_claim`)."""
    yield from _execution_claims()
    yield from _turnaround_claims()
    yield from _makespan_claims()


def simulated_latency_claim(outcomes: Mapping[WorkloadQueue, Sequence[Outcome]]) -> Claim:
    """State C48 on simulated outcomes; a part is open if too few replications had bursts beside that number."""
    latencies: dict[int, Estimate] = {}
    for beside in range(1, MOST_BESIDE + 1):
        found = [outcome[latency_key(beside)] for outcome in outcomes.get(LATENCY_CELL, ())]
        values = [value for value in found if value is not None]
        if len(values) > 1:
            latencies[beside] = mean(values)
    return latency_claim(latencies, "fewer than two replications had such bursts")


def latency_claim(latencies: Mapping[int, Estimate], too_few: str, *, void: bool = False) -> Claim:
    """State C48 on mean delays of bursts, by the number of parallel tasks beside them; what is not there is open.

    `void` says that a run behind them is.
    """
    parts: list[ValuePart | OpenPart] = []
    for beside in range(1, MOST_BESIDE + 1):
        says = f"latency beside {beside} < {LATENCY_BELOW_S:g} s (3dbf-light/ccs, sit)"
        latency = latencies.get(beside)
        if latency is None:
            parts.append(OpenPart(says, too_few))
        else:
            parts.append(ValuePart(says, latency, Range(low=-1.0, high=LATENCY_BELOW_S), void))
    return Claim("C48", "3D Fig. 10", "SIT, 3DBF-Light: CCS keeps latency below 400 ms at MPL 1 to 4.", tuple(parts))


def _execution_claims() -> Iterator[Claim]:
    alike = [
        about(EXECUTION, ccs("dit", one), ccs("dit", other), ABOUT_RESPONSE)
        for one, other in (("normal", "uniform-light"), ("normal", "uniform-hard"), ("uniform-light", "uniform-hard"))
    ]
    yield Claim(
        "C41", "3D Fig. 7",
        "SIT: Uniform-Hard executes faster than Normal; DIT: the 2D policies are about equal (within 10%).",
        (less(EXECUTION, ccs("sit", "uniform-hard"), ccs("sit", "normal")), *alike),
    )  # fmt: skip
    yield Claim(
        "C42", "3D Fig. 7", "3DBF-Hard executes faster than 3DBF-Light in both workloads.",
        tuple(less(EXECUTION, ccs(workload, "3dbf-hard"), ccs(workload, "3dbf-light")) for workload in WORKLOADS),
    )  # fmt: skip
    faster = [
        less(EXECUTION, ccs(workload, name), linux(workload, name)) for workload in WORKLOADS for name in COMPOSITIONS
    ]
    yield Claim(
        "C43", "3D Fig. 7",
        "CCS executes faster than Linux: by 15% in SIT under 3DBF-Light, by 24% in DIT under Normal (within 5 points), "
        "and even at MPL 1.",
        (_gain("sit", "3dbf-light", 0.15), _gain("dit", "normal", 0.24), *faster),
    )  # fmt: skip
    yield Claim(
        "C44", "3D Fig. 7", "Where jobs share nodes, execution takes longer in SIT than in DIT.",
        tuple(less(EXECUTION, ccs("dit", name), ccs("sit", name)) for name in SHARING),
    )  # fmt: skip


def _turnaround_claims() -> Iterator[Claim]:
    yield Claim(
        "C45", "3D Fig. 8", "Sharing nodes always beats Basic and 2DBackfilling on turnaround.",
        tuple(
            less(TURNAROUND, ccs(workload, name), ccs(workload, alone))
            for workload in WORKLOADS
            for name in SHARING
            for alone in ("basic", "2dbf")
        ),
    )  # fmt: skip
    best = [
        less(TURNAROUND, ccs(workload, name), ccs(workload, other))
        for workload, name in (("sit", "3dbf-light"), ("dit", "3dbf-hard"))
        for other in COMPOSITIONS
        if other != name
    ]
    harmless = [
        less(TURNAROUND, ccs(workload, with_it), ccs(workload, without), 1 + EQUAL_TIMES)
        for workload in WORKLOADS
        for with_it, without in (("2dbf", "basic"), ("3dbf-light", "uniform-light"), ("3dbf-hard", "uniform-hard"))
    ]
    yield Claim(
        "C46", "3D Fig. 8",
        "Turnaround is best under 3DBF-Light in SIT and under 3DBF-Hard in DIT; backfilling never harms (by more than "
        "5%).",
        (*best, *harmless),
    )  # fmt: skip


def _makespan_claims() -> Iterator[Claim]:
    better = ("normal", "uniform-light", "3dbf-hard", "3dbf-light")
    order = [
        less(MAKESPAN, ccs(workload, name), ccs(workload, other))
        for workload in WORKLOADS
        for name in better
        for other in ("uniform-hard", "2dbf")
    ]
    equal = about(MAKESPAN, ccs("sit", "uniform-hard"), ccs("dit", "uniform-hard"), EQUAL_TIMES)
    best, basic = (ComparedCase(*ccs("sit", name), MAKESPAN) for name in ("3dbf-light", "basic"))
    yield Claim(
        "C47", "3D Fig. 9",
        "Makespan: Normal, Uniform-Light and 3DBF beat Uniform-Hard and 2DBF; Uniform-Hard is equal in SIT and DIT "
        "(within 5%); 3DBF-Light is 35% better than Basic in SIT (within 5 points).",
        (*order, equal, RatioPart("makespan: 3dbf-light/ccs is 35% below basic/ccs (sit)", Ratio((best,), (basic,)),
                                  Range(0.65 - AROUND_A_GAIN, 0.65 + AROUND_A_GAIN))),
    )  # fmt: skip


def _gain(workload: str, composition: str, gain: float) -> RatioPart:
    """State that CCS takes `gain` less execution time than Linux."""
    cells = [ComparedCase(*cell(workload, composition), EXECUTION) for cell in (ccs, linux)]
    says = f"execution: {composition}/ccs is {gain:.0%} below {composition}/linux ({workload})"
    middle = 1.0 - gain
    return RatioPart(says, Ratio((cells[0],), (cells[1],)), Range(middle - AROUND_A_GAIN, middle + AROUND_A_GAIN))
