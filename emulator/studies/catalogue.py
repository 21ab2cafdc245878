"""The studies that can be run again: their figures, the workloads and queues that they simulate, and their claims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from emulator.model.names import named_among
from emulator.studies.shared_cases import SHARED_QUEUES
from emulator.studies.shared_claims import shared_claims
from emulator.studies.statements import (
    APPLICATIONS,
    BALANCED_LS_CHARTS,
    DAS_POLICIES,
    LIMITS,
    LP_VARIANTS,
    LS_VARIANTS,
    MIXED_COMPOSITIONS,
    MULTICOMPONENT_COMPOSITIONS,
    POLICIES,
    RULES,
    UNBALANCED_CHART,
    Claim,
    WorkloadQueue,
)
from emulator.studies.synthetic_claims import composition_claims, lp_claims, ls_claims
from emulator.studies.trace_claims import application_claims, gross_and_net_claims, limit_claims, total_limit_claims


class Measures(StrEnum):
    """The measure of a study: response times near saturation, the maximal utilization, its gross and net parts, or the
    times of a whole workload on nodes that jobs share.
    """

    RESPONSE = "response times"
    SATURATION = "maximal utilization"
    UTILIZATION = "gross and net utilization"
    SHARED_NODES = "times on shared nodes"


@dataclass(frozen=True, slots=True)
class Chart:
    """One workload under several queue disciplines, as one chart of a figure shows them."""

    workload: str
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """A published simulation study, with the arrivals and replications that it has unless others are asked for."""

    name: str
    title: str
    figures: str
    measures: Measures
    charts: tuple[Chart, ...]
    jobs: int = 50_000
    replications: int = 10

    @property
    def cells(self) -> tuple[WorkloadQueue, ...]:
        """Every workload and queue of the study."""
        return tuple((chart.workload, queue) for chart in self.charts for queue in chart.queues)


def _charts(workloads: tuple[str, ...], queues: tuple[str, ...]) -> tuple[Chart, ...]:
    return tuple(Chart(workload, queues) for workload in workloads)


STUDIES: Final = {
    study.name: study
    for study in (
        Study(
            "ls-variants",
            "Local schedulers: the order in which queues are visited",
            "SP Figs. 2, 3",
            Measures.RESPONSE,
            _charts((*BALANCED_LS_CHARTS, UNBALANCED_CHART), LS_VARIANTS),
        ),
        Study(
            "lp-variants",
            "Priority to local jobs: which kind of queue comes first",
            "SP Figs. 4, 5",
            Measures.RESPONSE,
            _charts((*MIXED_COMPOSITIONS, UNBALANCED_CHART), LP_VARIANTS),
        ),
        Study(
            "compositions",
            "GS, LS, LP and GP by composition of the job stream",
            "SP Figs. 6, 7",
            Measures.RESPONSE,
            _charts((*MIXED_COMPOSITIONS, "100-0-0-0", *MULTICOMPONENT_COMPOSITIONS), POLICIES),
        ),
        Study(
            "component-limits",
            "Jobs of the DAS log (surrogate) under limits on component sizes",
            "SP Figs. 8, 9",
            Measures.SATURATION,
            (
                Chart("das-128-16", (*DAS_POLICIES, "sc")),
                *_charts(("das-128-24", "das-128-32"), DAS_POLICIES),
                *_charts(tuple(f"das-128-{limit}-unbalanced" for limit in LIMITS), ("ls-do", "lp-gf")),
            ),
        ),
        Study(
            "total-limit",
            "Jobs of the DAS log (surrogate) of at most 64 processors",
            "SP Fig. 10",
            Measures.SATURATION,
            (
                *_charts(("das-128-16", "das-64-16"), (*DAS_POLICIES, "sc")),
                *_charts(("das-64-24", "das-64-32"), DAS_POLICIES),
            ),
        ),
        Study(
            "gross-and-net",
            "What spreading jobs costs: gross against net utilization",
            "SP section 4.4, MB section 6",
            Measures.UTILIZATION,
            (
                *_charts(tuple(f"das-128-{limit}" for limit in LIMITS), DAS_POLICIES),
                *_charts(tuple(f"{mix}-{rule}" for mix in APPLICATIONS for rule in RULES[1:]), DAS_POLICIES),
            ),
        ),
        Study(
            "application-mixes",
            "Measured applications under the coallocation rules",
            "SP Fig. 11, MB Figs. 5-8",
            Measures.SATURATION,
            _charts(tuple(f"{mix}-{rule}" for mix in APPLICATIONS for rule in RULES), DAS_POLICIES),
        ),
        Study(
            "non-dedicated",
            "Jobs that share nodes with each other and with local users: 3DBackfilling and coscheduling",
            "3D Figs. 7-10",
            Measures.SHARED_NODES,
            _charts(("sit", "dit"), SHARED_QUEUES),
            jobs=90,
            replications=30,
        ),
    )
}


def study_named(name: str) -> Study:
    """Get the study of that name.

    Raises:
        UnknownName: if there is none.
    """
    return STUDIES[named_among("study", name, STUDIES)]


def claims_about(study: str) -> tuple[Claim, ...]:
    """Get the claims that the study of that name decides; none if it decides none."""
    makers = {
        "ls-variants": ls_claims,
        "lp-variants": lp_claims,
        "compositions": composition_claims,
        "component-limits": limit_claims,
        "total-limit": total_limit_claims,
        "gross-and-net": gross_and_net_claims,
        "application-mixes": application_claims,
        "non-dedicated": shared_claims,
    }
    return tuple(makers[study]()) if study in makers else ()
