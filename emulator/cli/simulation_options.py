"""The options that ``simulate`` and ``sweep`` share.

A shell that completes a name imports this: nothing heavy is imported before a verb runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

GeneratedOption = Annotated[
    str | None, typer.Option("--clusters", metavar="NxSIZE,...", help="Generated clusters, such as 1024x32 or 72,4x32.")
]
FactorsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|FACTOR", help="One factor for all jobs, or a table of them; repeat it for more tables."),
]
EstimateFactorOption = Annotated[
    float | None,
    typer.Option(
        help="Draw the users' estimates: the execution time times 1 to this factor.", show_default="those of the jobs"
    ),
]
JobsPerLinkOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Let co-allocated jobs slow each other down if more than N of them share an access link.",
        show_default="no job slows another down",
    ),
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Replicas of every input file of a campaign, at different sites."),
]
InterarrivalFactorOption = Annotated[
    float | None,
    typer.Option(
        metavar="F", help="Multiplies a campaign's mean interarrival time: 0.5 makes jobs come twice as often."
    ),
]
TimeScaleOption = Annotated[
    float | None,
    typer.Option(
        metavar="S", help="Divides a campaign's times and files, not the links.", show_default="the campaign's, or 1"
    ),
]
MiddlewareOption = Annotated[
    bool | None, typer.Option(help="Add the topology's middleware overhead (default for campaigns).")
]
JobsOption = Annotated[int | None, typer.Option(help="Number of jobs of a campaign or of a study's stream.")]
WarmUpOption = Annotated[int, typer.Option(help="First arrivals that are simulated but not counted.")]
