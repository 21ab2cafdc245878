"""The published claims C1 to C24 as data: which ratio has to lie where, in which workload.

The claims are those of "Scheduling Policies for Processor Coallocation in Multicluster Systems" (SP) and "A
Measurement-Based Simulation Study of Processor Co-Allocation in Multicluster Systems" (MB). Words became numbers here:
*best* is less than every other; *much* is by a fifth in response times and by a twentieth in maximal utilization;
*little*, *good* and *about* are within the margins below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from emulator.simulator.studies.comparisons import About, Below, Constant, Part, Quantity, Ratio, Subject
from emulator.simulator.studies.workloads import study_workload
from workloads.compositions import UNBALANCED

MUCH: Final = 1 / 1.2
MUCH_UTILIZATION: Final = 1 / 1.05
ABOUT_RESPONSE: Final = 0.10
ABOUT_UTILIZATION: Final = 0.05

LS_VARIANTS: Final = ("ls-or", "ls-rd", "ls-ro", "ls-do")
LP_VARIANTS: Final = ("lp-lf", "lp-rd", "lp-gf")
POLICIES: Final = ("gs", "ls-do", "lp-gf", "gp")
MIXED_COMPOSITIONS: Final = ("25-25-25-25", "50-0-0-50", "50-25-25-0", "50-50-0-0", "80-0-0-20", "90-0-0-10")
MULTICOMPONENT_COMPOSITIONS: Final = ("0-0-0-100", "0-50-50-0")
BALANCED_LS_CHARTS: Final = (*MIXED_COMPOSITIONS, *MULTICOMPONENT_COMPOSITIONS)
MOSTLY_SINGLE: Final = ("80-0-0-20", "90-0-0-10")
UNBALANCED_CHART: Final = "80-0-0-20-unbalanced"
LIMITS: Final = (16, 24, 32)
DAS_POLICIES: Final = ("gs", "ls-do", "lp-gf")
APPLICATIONS: Final = ("poisson", "half-and-half", "ensflow")
RULES: Final = ("no", "co", "rco", "fco")

RESPONSE, LOCAL, GLOBAL = Quantity.RESPONSE, Quantity.LOCAL_RESPONSE, Quantity.GLOBAL_RESPONSE
GROSS, NET, GAP = Quantity.MAXIMAL_GROSS, Quantity.MAXIMAL_NET, Quantity.GROSS_OVER_NET
_NAMES: Final = {
    RESPONSE: "response",
    LOCAL: "local response",
    GLOBAL: "global response",
    GROSS: "maximal gross utilization",
    NET: "maximal net utilization",
    GAP: "gross over net utilization",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A published claim: its number, the figure it is read from, what it says, and what that means in numbers."""

    id: str
    figure: str
    statement: str
    parts: tuple[Part, ...]


Place = tuple[str, str]
"""A workload and a queue discipline."""


def _less(quantity: Quantity, left: Place, right: Place, bound: float = 1.0) -> Below:
    limit = "" if bound == 1.0 else f" × {bound:.3g}"
    says = f"{_NAMES[quantity]}: {_named(left, right)} < {_named(right, left)}{limit} ({_shared(left, right)})"
    return Below(says, Ratio((Subject(*left, quantity),), (Subject(*right, quantity),)), bound)


def _about(quantity: Quantity, left: Place, right: Place, margin: float) -> About:
    sides = f"{_named(left, right)} ≈ {_named(right, left)}"
    says = f"{_NAMES[quantity]}: {sides} within {margin:.0%} ({_shared(left, right)})"
    return About(says, Ratio((Subject(*left, quantity),), (Subject(*right, quantity),)), margin)


def _less_relative(quantity: Quantity, left: tuple[Place, Place], right: tuple[Place, Place]) -> Below:
    """The ratio `left` is less than the ratio `right`."""
    sides = [f"{' in '.join(reversed(over))} / {' in '.join(reversed(under))}" for over, under in (left, right)]
    above = (Subject(*left[0], quantity), Subject(*right[1], quantity))
    below = (Subject(*left[1], quantity), Subject(*right[0], quantity))
    return Below(f"{_NAMES[quantity]}: {sides[0]} < {sides[1]}", Ratio(above, below))


def _named(place: Place, other: Place) -> str:
    return place[1] if place[1] != other[1] else place[0]


def _shared(left: Place, right: Place) -> str:
    if left[1] == right[1]:
        return left[1]
    return left[0] if left[0] == right[0] else f"{left[0]}, {right[0]}"


def _best(quantity: Quantity, workload: str, best: str, others: tuple[str, ...]) -> Iterator[Below]:
    for other in others:
        if other != best:
            yield _less(quantity, (workload, best), (workload, other))


def _ls_claims() -> Iterator[Claim]:
    yield Claim(
        "C1", "SP Fig. 2", "Balanced queues: LS-DO is best.",
        tuple(it for chart in BALANCED_LS_CHARTS for it in _best(RESPONSE, chart, "ls-do", LS_VARIANTS)),
    )  # fmt: skip
    others = ("ls-rd", "ls-ro", "ls-do")
    worst = [
        _less(RESPONSE, (chart, other), (chart, "ls-or"))
        for chart in BALANCED_LS_CHARTS
        if chart != "90-0-0-10"
        for other in others
    ]
    improves = _less_relative(
        RESPONSE,
        (("90-0-0-10", "ls-or"), ("90-0-0-10", "ls-do")),
        (("80-0-0-20", "ls-or"), ("80-0-0-20", "ls-do")),
    )
    yield Claim(
        "C2", "SP Fig. 2a-h", "LS-OR is worst; it improves at a very low multicomponent share.", (*worst, improves)
    )
    yield Claim(
        "C3", "SP Fig. 2a-h", "LS-RD is very good (at most a tenth above LS-DO).",
        tuple(_less(RESPONSE, (it, "ls-rd"), (it, "ls-do"), 1 + ABOUT_RESPONSE) for it in BALANCED_LS_CHARTS),
    )  # fmt: skip
    alike = [
        _about(RESPONSE, (it, "ls-ro"), (it, "ls-rd"), ABOUT_RESPONSE)
        for it in BALANCED_LS_CHARTS
        if it not in MOSTLY_SINGLE
    ]
    poor = [_less(RESPONSE, (it, "ls-rd"), (it, "ls-ro")) for it in MOSTLY_SINGLE]
    yield Claim(
        "C4", "SP Fig. 2a-h", "LS-RO is about LS-RD, but poor where 80% or 90% have one component.", (*alike, *poor)
    )
    yield Claim(
        "C5", "SP Fig. 3", "Unbalanced queues: LS-OR is best.",
        tuple(_best(RESPONSE, UNBALANCED_CHART, "ls-or", LS_VARIANTS)),
    )  # fmt: skip


def _lp_claims() -> Iterator[Claim]:
    order = [
        _less(quantity, (chart, faster), (chart, slower))
        for chart in MIXED_COMPOSITIONS
        for quantity in (RESPONSE, GLOBAL)
        for faster, slower in (("lp-gf", "lp-rd"), ("lp-rd", "lp-lf"))
    ]
    little = [_less(LOCAL, (chart, "lp-gf"), (chart, "lp-lf"), 1.25) for chart in MIXED_COMPOSITIONS]
    most = [
        _less_relative(LOCAL, ((chart, "lp-gf"), (chart, "lp-lf")), (("50-50-0-0", "lp-gf"), ("50-50-0-0", "lp-lf")))
        for chart in MIXED_COMPOSITIONS
        if chart != "50-50-0-0"
    ]
    yield Claim(
        "C6", "SP Fig. 4",
        "LP-GF is best overall and for the global queue, LF worst, RD between; local queues lose little (at most a "
        "quarter) under GF, most for (50,50,0,0).",
        (*order, *little, *most),
    )  # fmt: skip
    gf, rd, lf = ((UNBALANCED_CHART, queue) for queue in ("lp-gf", "lp-rd", "lp-lf"))
    yield Claim(
        "C7", "SP Fig. 5",
        "Unbalanced: LF is best overall but bad globally; GF very high locally; RD slightly above LF overall, higher "
        "locally, much lower globally.",
        (
            _less(RESPONSE, lf, gf),
            _less(RESPONSE, lf, rd),
            _less(RESPONSE, rd, lf, 1.15),
            _less(GLOBAL, gf, lf, MUCH),
            _less(GLOBAL, rd, lf, MUCH),
            _less(LOCAL, lf, gf, MUCH),
            _less(LOCAL, lf, rd),
        ),
    )  # fmt: skip


def _composition_claims() -> Iterator[Claim]:
    first, *following = MIXED_COMPOSITIONS[:4]
    lowest = [it for chart in MIXED_COMPOSITIONS[:4] for it in _best(RESPONSE, chart, "ls-do", POLICIES)]
    second = [_less(RESPONSE, (chart, "lp-gf"), (chart, other)) for chart in following for other in ("gs", "gp")]
    gp = [_less(GLOBAL, (first, "gp"), (first, other)) for other in ("gs", "ls-do", "lp-gf")]
    gp += [
        _less(quantity, (first, other), (first, "gp"), MUCH)
        for quantity in (LOCAL, RESPONSE)
        for other in ("gs", "ls-do", "lp-gf")
    ]
    yield Claim(
        "C8", "SP Fig. 6a-d",
        "LS is lowest; LP second in b-d; GP is best globally, much the worst locally and overall (in a).",
        (*lowest, *second, *gp),
    )  # fmt: skip
    yield Claim(
        "C9", "SP Fig. 6b-d", "GP improves, against LS, as the shares of 3 and 4 components fall.",
        tuple(
            _less_relative(RESPONSE, ((fewer, "gp"), (fewer, "ls-do")), ((more, "gp"), (more, "ls-do")))
            for more, fewer in (("50-0-0-50", "50-25-25-0"), ("50-25-25-0", "50-50-0-0"))
        ),
    )  # fmt: skip
    yield Claim(
        "C10", "SP Fig. 6f", "GS does well where 90% have one component (at most a tenth above LS).",
        (_less(RESPONSE, ("90-0-0-10", "gs"), ("90-0-0-10", "ls-do"), 1 + ABOUT_RESPONSE),),
    )  # fmt: skip
    yield Claim(
        "C11", "SP Fig. 7a", "Only single-component jobs: GS beats LS.",
        (_less(RESPONSE, ("100-0-0-0", "gs"), ("100-0-0-0", "ls-do")),),
    )  # fmt: skip
    yield Claim(
        "C12", "SP Fig. 7b,c", "Only multicomponent jobs: LS beats GS.",
        tuple(_less(RESPONSE, (it, "ls-do"), (it, "gs")) for it in MULTICOMPONENT_COMPOSITIONS),
    )  # fmt: skip


def das(limit: int, queue: str, *, largest: int = 128, balanced: bool = True) -> Place:
    """A policy on the surrogate of the DAS log with that limit on component sizes."""
    return f"das-{largest}-{limit}{'' if balanced else '-unbalanced'}", queue


def _limit_claims() -> Iterator[Claim]:
    ls, lp, gs, sc = (das(16, queue) for queue in ("ls-do", "lp-gf", "gs", "sc"))
    yield Claim(
        "C13", "SP Fig. 8", "Limit 16: LS best, its maximal gross utilization at least SC's; SC has more throughput.",
        (
            _less(GROSS, gs, ls),
            _less(GROSS, lp, ls),
            _less(GROSS, sc, ls, 1.01),
            _less(NET, ls, sc),
        ),
    )  # fmt: skip
    lp_worst = [_less(GROSS, das(limit, "lp-gf"), das(limit, other)) for limit in LIMITS for other in ("gs", "ls-do")]
    yield Claim(
        "C14", "SP Fig. 8", "LP is worst, GS always better than LP; at limit 32 GS is nearly as good as LS.",
        (*lp_worst, _about(GROSS, das(32, "gs"), das(32, "ls-do"), ABOUT_UTILIZATION)),
    )  # fmt: skip
    hurt = [_less(GROSS, das(limit, "ls-do", balanced=False), das(limit, "ls-do")) for limit in LIMITS]
    more = [
        _less_relative(
            GROSS,
            (das(large, "ls-do", balanced=False), das(large, "ls-do")),
            (das(small, "ls-do", balanced=False), das(small, "ls-do")),
        )
        for small, large in ((16, 24), (24, 32))
    ]
    unmoved = [
        _about(GROSS, das(limit, "lp-gf", balanced=False), das(limit, "lp-gf"), ABOUT_UTILIZATION) for limit in LIMITS
    ]
    yield Claim(
        "C15", "SP Fig. 8",
        "Imbalance hurts LS, more at larger limits (at 32 LS is worse than GS and similar to LP), and hardly LP.",
        (
            *hurt,
            *more,
            _less(GROSS, das(32, "ls-do", balanced=False), das(32, "gs")),
            _about(
                GROSS,
                das(32, "ls-do", balanced=False),
                das(32, "lp-gf", balanced=False),
                ABOUT_UTILIZATION,
            ),
            *unmoved,
        ),
    )  # fmt: skip
    everything = [das(limit, queue) for limit in LIMITS for queue in DAS_POLICIES] + [sc]
    yield Claim(
        "C16", "SP Fig. 8", "All maximal utilizations are below 0.65, that of the single cluster included.",
        tuple(
            Below(f"{_NAMES[GROSS]}: {' in '.join(reversed(it))} < 0.65", Ratio((Subject(*it, GROSS),), (), 0.65))
            for it in everything
        ),
    )  # fmt: skip
    worst_at_24 = [
        _less(GROSS, das(24, queue), das(limit, queue)) for queue in DAS_POLICIES for limit in LIMITS if limit != 24
    ]
    yield Claim(
        "C17", "SP Fig. 9",
        "Limit 24 is worst for every policy; GS: 32 slightly better than 16; LS: 16 much better than 32; LP: 16 "
        "slightly better.",
        (
            *worst_at_24,
            _less(GROSS, das(16, "gs"), das(32, "gs")),
            _less(GROSS, das(32, "ls-do"), das(16, "ls-do"), 1 / 1.03),
            _less(GROSS, das(32, "lp-gf"), das(16, "lp-gf")),
        ),
    )  # fmt: skip
    gains = [_less(GROSS, das(16, queue), das(16, queue, largest=64)) for queue in (*DAS_POLICIES, "sc")]
    yield Claim(
        "C18", "SP Fig. 10",
        "Jobs of at most 64: a large gain for LS, a larger one for SC, gains for GS and LP; LP then beats GS.",
        (
            *gains,
            _less(GROSS, das(16, "ls-do"), das(16, "ls-do", largest=64), MUCH_UTILIZATION),
            _less_relative(
                GROSS,
                (das(16, "ls-do", largest=64), das(16, "ls-do")),
                (das(16, "sc", largest=64), das(16, "sc")),
            ),
            _less(GROSS, das(16, "gs", largest=64), das(16, "lp-gf", largest=64)),
        ),
    )  # fmt: skip


def _gross_and_net_claims() -> Iterator[Claim]:
    published = {16: (1.218, 0.487), 24: (1.173, 0.262), 32: (1.159, 0.220)}
    parts: list[Part] = []
    for limit, (gap, share) in published.items():
        workload = study_workload(f"das-128-{limit}")
        parts.append(Constant(f"gross over net, limit {limit}: {gap}", workload.gross_over_net("gs"), gap, 5e-4))
        multicomponent = workload.mix.multicomponent_share
        parts.append(Constant(f"multicomponent share, limit {limit}: {share:.1%}", multicomponent, share, 5e-4))
        for queue in DAS_POLICIES:
            says = f"gross over net as simulated: {queue} ≈ {gap} within 1% (das-128-{limit})"
            parts.append(About(says, Ratio((Subject(f"das-128-{limit}", queue, GAP),), (), gap), 0.01))
    busiest = max(UNBALANCED) * (1 - study_workload("das-128-16").mix.multicomponent_share)
    parts.append(Constant("most loaded local queue, limit 16, unbalanced: 20.5% of the jobs", busiest, 0.205, 5e-4))
    yield Claim("C19", "SP section 4.4", "Gross over net utilization is 1.218, 1.173, 1.159.", tuple(parts))
    largest = [
        _less(GAP, (f"{other}-{rule}", "gs"), (f"poisson-{rule}", "gs"))
        for rule in RULES[1:]
        for other in ("ensflow", "half-and-half")
    ]
    rco = [_less(GAP, (f"{mix}-{rule}", "gs"), (f"{mix}-rco", "gs")) for mix in APPLICATIONS for rule in ("co", "fco")]
    independent = [
        _about(GAP, (f"{mix}-{rule}", queue), (f"{mix}-{rule}", "gs"), 0.01)
        for mix in APPLICATIONS
        for rule in RULES[1:]
        for queue in ("ls-do", "lp-gf")
    ]
    yield Claim(
        "C24", "MB section 6",
        "The gap between gross and net is largest for Poisson and for rco, and independent of the policy.",
        (*largest, *rco, *independent),
    )  # fmt: skip


def _application_claims() -> Iterator[Claim]:
    yield Claim(
        "C20", "SP Fig. 11, MB Fig. 5", "By maximal utilization Poisson is best and the mix worst.",
        tuple(
            _less(GROSS, (f"{worse}-{rule}", queue), (f"{better}-{rule}", queue))
            for queue in DAS_POLICIES
            for rule in RULES
            for worse, better in (("ensflow", "poisson"), ("half-and-half", "ensflow"))
        ),
    )  # fmt: skip
    cells = [(mix, queue) for mix in APPLICATIONS for queue in DAS_POLICIES]
    worst = [_less(GROSS, (f"{mix}-co", queue), (f"{mix}-no", queue)) for mix, queue in cells]
    clearly = [
        _less(GROSS, (f"{mix}-co", queue), (f"{mix}-{rule}", queue), MUCH_UTILIZATION)
        for mix, queue in cells
        for rule in ("rco", "fco")
    ]
    yield Claim("C21", "MB Figs. 5-8", "co is worst everywhere; rco and fco are clearly better.", (*worst, *clearly))
    same = [_about(GROSS, (f"{mix}-fco", "gs"), (f"{mix}-no", "gs"), ABOUT_UTILIZATION) for mix in APPLICATIONS]
    worse = [
        _less(GROSS, (f"{mix}-{rule}", "gs"), (f"{mix}-no", "gs")) for mix in APPLICATIONS for rule in ("co", "rco")
    ]
    better = [
        _less(GROSS, (f"{mix}-{low}", queue), (f"{mix}-{high}", queue), bound)
        for mix in APPLICATIONS
        for queue in ("ls-do", "lp-gf")
        for high in ("rco", "fco")
        for low, bound in (("co", MUCH_UTILIZATION), ("no", 1.0))
    ]
    yield Claim(
        "C22", "MB Figs. 6-8",
        "GS: no is about fco, the others are worse; LS, LP: rco and fco are much better than no and co.",
        (*same, *worse, *better),
    )  # fmt: skip
    parts: list[Part] = []
    for mix in APPLICATIONS:
        no, rco, fco = f"{mix}-no", f"{mix}-rco", f"{mix}-fco"
        parts += [_less(GROSS, (no, "ls-do"), (no, "gs")), _about(GROSS, (no, "ls-do"), (no, "lp-gf"), 0.01)]
        parts += [_less(GROSS, (rule, "gs"), (rule, queue)) for rule in (rco, fco) for queue in ("ls-do", "lp-gf")]
        parts += [_less(GROSS, (rco, "lp-gf"), (rco, "ls-do"), 1 / 1.03)]
        parts += [_about(GROSS, (fco, "ls-do"), (fco, "lp-gf"), 0.03)]
        parts += [_less(GROSS, (rco, queue), (fco, queue), 1.01) for queue in ("ls-do", "lp-gf")]
    yield Claim(
        "C23", "MB Figs. 6-8",
        "no: GS above LS, which equals LP; rco, fco: LS and LP above GS; rco: LS far above LP; fco: LS about LP, best.",
        tuple(parts),
    )  # fmt: skip


def claims_about(study: str) -> tuple[Claim, ...]:
    """The claims that the study of that name decides; none if it decides none."""
    makers = {
        "ls-variants": _ls_claims,
        "lp-variants": _lp_claims,
        "compositions": _composition_claims,
        "component-limits": lambda: (it for it in _limit_claims() if it.id != "C18"),
        "total-limit": lambda: (it for it in _limit_claims() if it.id == "C18"),
        "gross-and-net": _gross_and_net_claims,
        "application-mixes": _application_claims,
    }
    return tuple(makers[study]()) if study in makers else ()
