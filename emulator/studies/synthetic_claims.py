"""Claims C1 to C12, on synthetic job streams: "Scheduling Policies for Processor Coallocation in Multicluster Systems"
(SP), section 3."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.studies.statements import (
    ABOUT_RESPONSE,
    BALANCED_LS_CHARTS,
    GLOBAL,
    LOCAL,
    LS_VARIANTS,
    MIXED_COMPOSITIONS,
    MOSTLY_SINGLE,
    MUCH,
    MULTICOMPONENT_COMPOSITIONS,
    POLICIES,
    RESPONSE,
    UNBALANCED_CHART,
    Claim,
    about,
    best,
    less,
    less_relative,
)


def ls_claims() -> Iterator[Claim]:
    """State C1 to C5: the variants of local schedulers."""
    yield Claim(
        "C1", "SP Fig. 2", "Balanced queues: LS-DO is best.",
        tuple(part for chart in BALANCED_LS_CHARTS for part in best(RESPONSE, chart, "ls-do", LS_VARIANTS)),
    )  # fmt: skip
    others = ("ls-rd", "ls-ro", "ls-do")
    worst = [
        less(RESPONSE, (chart, other), (chart, "ls-or"))
        for chart in BALANCED_LS_CHARTS
        if chart != "90-0-0-10"
        for other in others
    ]
    improves = less_relative(
        RESPONSE,
        (("90-0-0-10", "ls-or"), ("90-0-0-10", "ls-ro")),
        (("80-0-0-20", "ls-or"), ("80-0-0-20", "ls-ro")),
    )
    yield Claim(
        "C2", "SP Fig. 2a-h",
        "LS-OR is worst except where 90% have one component; there it improves (against LS-RO).",
        (*worst, improves),
    )  # fmt: skip
    yield Claim(
        "C3", "SP Fig. 2a-h", "LS-RD is very good (at most a tenth above LS-DO).",
        tuple(less(RESPONSE, (chart, "ls-rd"), (chart, "ls-do"), 1 + ABOUT_RESPONSE) for chart in BALANCED_LS_CHARTS),
    )  # fmt: skip
    alike = [
        about(RESPONSE, (chart, "ls-ro"), (chart, "ls-rd"), ABOUT_RESPONSE)
        for chart in BALANCED_LS_CHARTS
        if chart not in MOSTLY_SINGLE
    ]
    poor = [less(RESPONSE, (chart, "ls-rd"), (chart, "ls-ro")) for chart in MOSTLY_SINGLE]
    yield Claim(
        "C4", "SP Fig. 2a-h", "LS-RO is about LS-RD, but poor where 80% or 90% have one component.", (*alike, *poor)
    )
    yield Claim(
        "C5", "SP Fig. 3", "Unbalanced queues: LS-OR is best.",
        tuple(best(RESPONSE, UNBALANCED_CHART, "ls-or", LS_VARIANTS)),
    )  # fmt: skip


def lp_claims() -> Iterator[Claim]:
    """State C6 and C7: the variants of priority to local jobs."""
    order = [
        less(quantity, (chart, faster), (chart, slower))
        for chart in MIXED_COMPOSITIONS
        for quantity in (RESPONSE, GLOBAL)
        for faster, slower in (("lp-gf", "lp-rd"), ("lp-rd", "lp-lf"))
    ]
    little = [less(LOCAL, (chart, "lp-gf"), (chart, "lp-lf"), 1.25) for chart in MIXED_COMPOSITIONS]
    most = [
        less_relative(LOCAL, ((chart, "lp-gf"), (chart, "lp-lf")), (("50-50-0-0", "lp-gf"), ("50-50-0-0", "lp-lf")))
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
            less(RESPONSE, lf, gf),
            less(RESPONSE, lf, rd),
            less(RESPONSE, rd, lf, 1.15),
            less(GLOBAL, gf, lf, MUCH),
            less(GLOBAL, rd, lf, MUCH),
            less(LOCAL, lf, gf, MUCH),
            less(LOCAL, lf, rd),
        ),
    )  # fmt: skip


def composition_claims() -> Iterator[Claim]:
    """State C8 to C12: GS, LS, LP and GP by composition of the job stream."""
    first, *following = MIXED_COMPOSITIONS[:4]
    lowest = [part for chart in MIXED_COMPOSITIONS[:4] for part in best(RESPONSE, chart, "ls-do", POLICIES)]
    second = [less(RESPONSE, (chart, "lp-gf"), (chart, other)) for chart in following for other in ("gs", "gp")]
    gp = [less(GLOBAL, (first, "gp"), (first, other)) for other in ("gs", "ls-do", "lp-gf")]
    gp += [
        less(quantity, (first, other), (first, "gp"), MUCH)
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
            less_relative(RESPONSE, ((fewer, "gp"), (fewer, "ls-do")), ((more, "gp"), (more, "ls-do")))
            for more, fewer in (("50-0-0-50", "50-25-25-0"), ("50-25-25-0", "50-50-0-0"))
        ),
    )  # fmt: skip
    yield Claim(
        "C10", "SP Fig. 6f", "GS does well where 90% have one component (at most a tenth above LS).",
        (less(RESPONSE, ("90-0-0-10", "gs"), ("90-0-0-10", "ls-do"), 1 + ABOUT_RESPONSE),),
    )  # fmt: skip
    yield Claim(
        "C11", "SP Fig. 7a", "Only single-component jobs: GS beats LS.",
        (less(RESPONSE, ("100-0-0-0", "gs"), ("100-0-0-0", "ls-do")),),
    )  # fmt: skip
    yield Claim(
        "C12", "SP Fig. 7b,c", "Only multicomponent jobs: LS beats GS.",
        tuple(less(RESPONSE, (chart, "ls-do"), (chart, "gs")) for chart in MULTICOMPONENT_COMPOSITIONS),
    )  # fmt: skip
