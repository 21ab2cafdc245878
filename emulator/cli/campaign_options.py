"""The options of the verbs of campaigns, and the campaign that they choose.

A shell that completes a name imports this: nothing heavy is imported before a verb runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli import completion
from emulator.cli.dilations import parse_dilation
from emulator.cli.foreign_text import say, say_left_out
from emulator.policies.names import POLICY_CHOICES, QUEUE_CHOICES

if TYPE_CHECKING:
    from workloads.campaign import Campaign

CampaignArgument = Annotated[
    str,
    typer.Argument(
        help="Name of a campaign (`testbed list campaigns`), or the path of a campaign file.",
        autocompletion=completion.campaigns,
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        help="Placement policy, instead of the campaign's or, with another queue, what goes with it: "
        f"{POLICY_CHOICES}.",
        autocompletion=completion.policies,
    ),
]
QueueOption = Annotated[
    str | None,
    typer.Option(
        help=f"Queue discipline, instead of the campaign's: {QUEUE_CHOICES}.", autocompletion=completion.queues
    ),
]
TopologyOption = Annotated[
    str | None,
    typer.Option(
        help="Topology on which it runs: a name (`testbed list topologies`) or a file.",
        show_default="the campaign's",
        autocompletion=completion.topologies,
    ),
]
QuotaOption = Annotated[
    float | None, typer.Option(help="Share of each cluster that its jobs may fill, instead of the campaign's.")
]
ScanIntervalOption = Annotated[
    float | None,
    typer.Option(metavar="S", help="Emulated seconds between scans of the queue, instead of the campaign's."),
]
TriesThresholdOption = Annotated[
    int | None, typer.Option(metavar="N", help="A job tried more often is given up, instead of the campaign's.")
]
ScanAtDeparturesOption = Annotated[
    bool | None, typer.Option(help="Try all waiting jobs also at once when another departs, instead of the campaign's.")
]
DecisionLimitOption = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="CPU seconds that a decision of a policy or queue of your own may take.",
        show_default="the campaign's, or 5",
    ),
]
CampaignDilationOption = Annotated[
    str | None,
    typer.Option(
        metavar="K|auto",
        help="Host seconds per emulated second; auto: found by pilots.",
        show_default="the campaign's, or auto",
    ),
]
TimeScaleOption = Annotated[
    float | None,
    typer.Option(
        metavar="S", help="Divides iterations, times and files, not the links.", show_default="the campaign's, or 1"
    ),
]
RepeatVoidOption = Annotated[
    int, typer.Option(metavar="N", min=0, max=10, help="Repeat it up to N times if its background load makes it void.")
]
LocustPageOption = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        min=1,
        max=65535,
        help="Show locust's own page at this port of the loopback, and keep its report.",
    ),
]
BandOption = Annotated[
    str | None,
    typer.Option(metavar="LOW-HIGH|none", help="Band of the background load in percent, instead of the campaign's."),
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Replicas of every input file, at different sites.", show_default="the campaign's"
    ),
]
NumericsOption = Annotated[
    str | None,
    typer.Option(
        metavar="real|sampled", help="sampled: most iterations take their time without computing.", show_default="real"
    ),
]
InterarrivalFactorOption = Annotated[
    float | None,
    typer.Option(metavar="F", help="Multiplies the mean interarrival time: 0.5 makes jobs come twice as often."),
]
JobsOption = Annotated[int | None, typer.Option(help="Number of jobs, instead of the campaign's.")]


def chosen_campaign(
    campaign: str,
    *,
    queue: str | None,
    policy: str | None = None,
    dilation: str | None,
    band: str | None,
    replicas: int | None,
    interarrival_factor: float | None = None,
    seed: int | None = None,
    **changes: object,
) -> tuple[Campaign, float | None]:
    """Return the campaign that the options choose, and the dilation that is stated; None if pilots are to find it.

    If each seed has a job list of its own, it has that of `seed`. It does not carry the sources of own policies yet.

    Raises:
        UnknownName: if there is no such campaign.
        InvalidInput: if an option is out of range.
    """
    from emulator.model.catalogue import topology_named
    from workloads.campaign import campaign_named

    requested = None if dilation is None else parse_dilation(dilation)
    topology = None if changes.get("topology") is None else topology_named(str(changes["topology"]))
    chosen = campaign_named(campaign, topology, seed).scheduled(queue, policy)
    say_left_out(chosen.name, chosen.left_out)
    chosen = chosen.changed(dilation=requested, **changes).under_band(band).replicated(replicas)
    chosen = chosen.spaced(interarrival_factor)
    _say_unused_times(chosen)
    if dilation is None and chosen.states_dilation:
        requested = chosen.dilation
    return chosen, requested


def _say_unused_times(campaign: Campaign) -> None:
    """Say that a live run takes no times from the campaign, if it states some of a program of the user's own."""
    if campaign.command and campaign.states_services:
        says = "execution times are for simulations only: the program says how long it runs."
        say(f"Campaign {campaign.name!r}: {says}", to_error=True)
