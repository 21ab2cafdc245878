"""Claims C13 to C24, on jobs of a log and on measured applications.

C13 to C19 are those of "Scheduling Policies for Processor Coallocation in Multicluster Systems" (SP), section 4; C20 to
C24 those of its section 5 and of "A Measurement-Based Simulation Study of Processor Co-Allocation in Multicluster
Systems" (MB), sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.simulator.study_streams import study_workload
from emulator.studies.cases import SEARCH_EXCESS
from emulator.studies.statements import (
    ABOUT_UTILIZATION,
    APPLICATIONS,
    DAS_POLICIES,
    GAP,
    GROSS,
    LIMITS,
    MUCH_UTILIZATION,
    NAMES,
    NET,
    RULES,
    Claim,
    ComparedCase,
    Part,
    Range,
    Ratio,
    RatioPart,
    WorkloadQueue,
    about,
    exactly,
    less,
    less_relative,
)
from workloads.compositions import UNBALANCED


def das(limit: int, queue: str, *, largest: int = 128, balanced: bool = True) -> WorkloadQueue:
    """Return a policy on the surrogate of the DAS log with that limit on component sizes."""
    return f"das-{largest}-{limit}{'' if balanced else '-unbalanced'}", queue


def limit_claims() -> Iterator[Claim]:
    """State C13 to C17: jobs of the log under limits on component sizes."""
    yield from _policies_under_limits()
    yield _imbalance()
    yield from _limits_compared()


def _policies_under_limits() -> Iterator[Claim]:
    ls, lp, gs, sc = (das(16, queue) for queue in ("ls-do", "lp-gf", "gs", "sc"))
    yield Claim(
        "C13", "SP Fig. 8", "Limit 16: LS best, its maximal gross utilization at least SC's; SC has more throughput.",
        (
            less(GROSS, gs, ls),
            less(GROSS, lp, ls),
            less(GROSS, sc, ls, 1.01),
            less(NET, ls, sc),
        ),
    )  # fmt: skip
    lp_worst = [less(GROSS, das(limit, "lp-gf"), das(limit, other)) for limit in LIMITS for other in ("gs", "ls-do")]
    yield Claim(
        "C14", "SP Fig. 8", "LP is worst, GS always better than LP; at limit 32 GS is nearly as good as LS.",
        (*lp_worst, about(GROSS, das(32, "gs"), das(32, "ls-do"), ABOUT_UTILIZATION)),
    )  # fmt: skip


def _imbalance() -> Claim:
    hurt = [less(GROSS, das(limit, "ls-do", balanced=False), das(limit, "ls-do")) for limit in LIMITS]
    more = [
        less_relative(
            GROSS,
            (das(large, "ls-do", balanced=False), das(large, "ls-do")),
            (das(small, "ls-do", balanced=False), das(small, "ls-do")),
        )
        for small, large in ((16, 24), (24, 32))
    ]
    unmoved = [
        about(GROSS, das(limit, "lp-gf", balanced=False), das(limit, "lp-gf"), ABOUT_UTILIZATION) for limit in LIMITS
    ]
    return Claim(
        "C15", "SP Fig. 8",
        "Imbalance hurts LS, more at larger limits (at 32 LS is worse than GS and similar to LP), and hardly LP.",
        (
            *hurt,
            *more,
            less(GROSS, das(32, "ls-do", balanced=False), das(32, "gs")),
            about(
                GROSS,
                das(32, "ls-do", balanced=False),
                das(32, "lp-gf", balanced=False),
                ABOUT_UTILIZATION,
            ),
            *unmoved,
        ),
    )  # fmt: skip


def _limits_compared() -> Iterator[Claim]:
    everything = [das(limit, queue) for limit in LIMITS for queue in DAS_POLICIES] + [das(16, "sc")]
    least, most = SEARCH_EXCESS
    excess = f"found {least - 1:.0%} to {most - 1:.0%} too large"
    yield Claim(
        "C16", "SP Fig. 8", "All maximal utilizations are below 0.65, that of the single cluster included.",
        tuple(
            RatioPart(
                f"{NAMES[GROSS]}: {' in '.join(reversed(cell))} < 0.65 ({excess})",
                Ratio((ComparedCase(*cell, GROSS),), (), 0.65),
                Range(high=1.0),
                least,
                most,
            )
            for cell in everything
        ),
    )  # fmt: skip
    worst_at_24 = [
        less(GROSS, das(24, queue), das(limit, queue)) for queue in DAS_POLICIES for limit in LIMITS if limit != 24
    ]
    yield Claim(
        "C17", "SP Fig. 9",
        "Limit 24 is worst for every policy; GS: 32 slightly better than 16; LS: 16 much better than 32; LP: 16 "
        "slightly better.",
        (
            *worst_at_24,
            less(GROSS, das(16, "gs"), das(32, "gs")),
            less(GROSS, das(32, "ls-do"), das(16, "ls-do"), MUCH_UTILIZATION),
            less(GROSS, das(32, "lp-gf"), das(16, "lp-gf")),
        ),
    )  # fmt: skip


def total_limit_claims() -> Iterator[Claim]:
    """State C18: the same log without its largest jobs."""
    gains = [less(GROSS, das(16, queue), das(16, queue, largest=64)) for queue in (*DAS_POLICIES, "sc")]
    yield Claim(
        "C18", "SP Fig. 10",
        "Jobs of at most 64: a large gain for LS, a larger one for SC, gains for GS and LP; LP then beats GS.",
        (
            *gains,
            less(GROSS, das(16, "ls-do"), das(16, "ls-do", largest=64), MUCH_UTILIZATION),
            less_relative(
                GROSS,
                (das(16, "ls-do", largest=64), das(16, "ls-do")),
                (das(16, "sc", largest=64), das(16, "sc")),
            ),
            less(GROSS, das(16, "gs", largest=64), das(16, "lp-gf", largest=64)),
        ),
    )  # fmt: skip


def gross_and_net_claims() -> Iterator[Claim]:
    """State C19 and C24: what spreading jobs costs."""
    published = {16: (1.218, 0.487), 24: (1.173, 0.262), 32: (1.159, 0.220)}
    parts: list[Part] = []
    for limit, (gap, share) in published.items():
        workload = study_workload(f"das-128-{limit}")
        parts.append(exactly(f"gross over net, limit {limit}: {gap}", workload.gross_over_net("gs"), gap, 5e-4))
        multicomponent = workload.mix.multicomponent_share
        parts.append(exactly(f"multicomponent share, limit {limit}: {share:.1%}", multicomponent, share, 5e-4))
        for queue in DAS_POLICIES:
            says = f"gross over net as simulated: {queue} ≈ {gap} within 1% (das-128-{limit})"
            gross_over_net = Ratio((ComparedCase(f"das-128-{limit}", queue, GAP),), (), gap)
            parts.append(RatioPart(says, gross_over_net, Range.within_share(0.01)))
    busiest = max(UNBALANCED) * (1 - study_workload("das-128-16").mix.multicomponent_share)
    parts.append(exactly("most loaded local queue, limit 16, unbalanced: 20.5% of the jobs", busiest, 0.205, 5e-4))
    yield Claim("C19", "SP section 4.4", "Gross over net utilization is 1.218, 1.173, 1.159.", tuple(parts))
    yield _gaps_of_applications()


def _gaps_of_applications() -> Claim:
    largest = [
        less(GAP, (f"{other}-{rule}", "gs"), (f"poisson-{rule}", "gs"))
        for rule in RULES[1:]
        for other in ("ensflow", "half-and-half")
    ]
    rco = [less(GAP, (f"{mix}-{rule}", "gs"), (f"{mix}-rco", "gs")) for mix in APPLICATIONS for rule in ("co", "fco")]
    independent = [
        about(GAP, (f"{mix}-{rule}", queue), (f"{mix}-{rule}", "gs"), 0.01)
        for mix in APPLICATIONS
        for rule in RULES[1:]
        for queue in ("ls-do", "lp-gf")
    ]
    return Claim(
        "C24", "MB section 6",
        "The gap between gross and net is largest for Poisson and for rco, and independent of the policy.",
        (*largest, *rco, *independent),
    )  # fmt: skip


def application_claims() -> Iterator[Claim]:
    """State C20 to C23: maximal utilizations of the applications under the coallocation rules."""
    yield Claim(
        "C20", "SP Fig. 11, MB Fig. 5", "By maximal utilization Poisson is best and the mix worst.",
        tuple(
            less(GROSS, (f"{worse}-{rule}", queue), (f"{better}-{rule}", queue))
            for queue in DAS_POLICIES
            for rule in RULES
            for worse, better in (("ensflow", "poisson"), ("half-and-half", "ensflow"))
        ),
    )  # fmt: skip
    cells = [(mix, queue) for mix in APPLICATIONS for queue in DAS_POLICIES]
    worst = [less(GROSS, (f"{mix}-co", queue), (f"{mix}-no", queue)) for mix, queue in cells]
    clearly = [
        less(GROSS, (f"{mix}-co", queue), (f"{mix}-{rule}", queue), MUCH_UTILIZATION)
        for mix, queue in cells
        for rule in ("rco", "fco")
    ]
    yield Claim("C21", "MB Figs. 5-8", "co is worst everywhere; rco and fco are clearly better.", (*worst, *clearly))
    yield _rules_by_policy()
    yield _policies_by_rule()


def _rules_by_policy() -> Claim:
    same = [about(GROSS, (f"{mix}-fco", "gs"), (f"{mix}-no", "gs"), ABOUT_UTILIZATION) for mix in APPLICATIONS]
    worse = [
        less(GROSS, (f"{mix}-{rule}", "gs"), (f"{mix}-no", "gs")) for mix in APPLICATIONS for rule in ("co", "rco")
    ]
    better = [
        less(GROSS, (f"{mix}-{low}", queue), (f"{mix}-{high}", queue), MUCH_UTILIZATION)
        for mix in APPLICATIONS
        for queue in ("ls-do", "lp-gf")
        for high in ("rco", "fco")
        for low in ("co", "no")
    ]
    return Claim(
        "C22", "MB Figs. 6-8",
        "GS: no is about fco, the others are worse; LS, LP: rco and fco are much better than no and co.",
        (*same, *worse, *better),
    )  # fmt: skip


def _policies_by_rule() -> Claim:
    parts: list[Part] = []
    for mix in APPLICATIONS:
        no, rco, fco = f"{mix}-no", f"{mix}-rco", f"{mix}-fco"
        parts += [less(GROSS, (no, "ls-do"), (no, "gs")), about(GROSS, (no, "ls-do"), (no, "lp-gf"), 0.01)]
        parts += [less(GROSS, (rule, "gs"), (rule, queue)) for rule in (rco, fco) for queue in ("ls-do", "lp-gf")]
        parts += [less(GROSS, (rco, "lp-gf"), (rco, "ls-do"), MUCH_UTILIZATION)]
        parts += [about(GROSS, (fco, "ls-do"), (fco, "lp-gf"), 0.03)]
        parts += [less(GROSS, (rco, queue), (fco, queue), 1.01) for queue in ("ls-do", "lp-gf")]
    return Claim(
        "C23", "MB Figs. 6-8",
        "no: GS above LS, which equals LP; rco, fco: LS and LP above GS; rco: LS far above LP; fco: LS about LP, best.",
        tuple(parts),
    )  # fmt: skip
