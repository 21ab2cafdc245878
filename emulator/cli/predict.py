"""The verb ``predict``: what an iteration of a job takes by the model, in one cluster and split over several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from apps.descriptor import ApplicationDescriptor
from apps.grid import equal_components
from apps.registry import application_named
from emulator.cli.completion import runs, topologies
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.options import JsonOption
from emulator.cli.prediction_options import DEFAULT_TOPOLOGY, Exchange, InterconnectOption
from emulator.cli.tables import show_rows
from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob, Predicted, predicted
from emulator.measurement.beside_model import BesideModel, beside_model
from emulator.model.catalogue import topology_named
from emulator.model.counts import number_of
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.interconnects import WhichInterconnect
from emulator.model.names import named_among
from emulator.model.topology import Topology
from emulator.model.uncertainty import RelativeError
from emulator.runs.run_directory import read_run

DEFAULT_APPLICATION: Final = "poisson"
DEFAULT_PROCESSORS: Final = 16
DEFAULT_GRID: Final = 400
NO_GRID: Final = 0
"""The grid of a job whose application has none."""
_WITH_LIKE: Final = {"like", "topology", "as_json"}
"""The options that go with --like; all others describe a job."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("predict")(predict)


def predict(
    context: typer.Context,
    application: Annotated[str, typer.Option("--app", help="The application.")] = DEFAULT_APPLICATION,
    grid: Annotated[
        int | None, typer.Option(min=1, help="Its grid points along a side.", show_default=str(DEFAULT_GRID))
    ] = None,
    processors: Annotated[
        int | None, typer.Option(min=1, help="Its processors; by default those of all its parts, or 16.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The sizes of its parts, such as 24,16,8; or a number of equal parts.")
    ] = None,
    on: Annotated[str | None, typer.Option(help="Their clusters by name, in order; by default the first ones.")] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help=f"A topology's name in compose/, or a YAML file; {DEFAULT_TOPOLOGY}, or that of --like, by default.",
            autocompletion=topologies,
        ),
    ] = None,
    interconnect: InterconnectOption = None,
    processors_per_node: Annotated[
        int | None, typer.Option(min=1, help="Processors of each node that the job gets; else as the topology says.")
    ] = None,
    exchange: Annotated[
        Exchange | None, typer.Option(help="Borders one after another, or all at once; else as the application does.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Also predict the runtime of this number of iterations.")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Predict the jobs of a live run, beside what they took.", autocompletion=runs),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict an iteration of a job, and how much longer it takes than in one cluster, with 95% intervals.

    Nothing is run: the numbers are the topology's.

    Example: testbed predict --app poisson --grid 1000 --processors 48 --split 24,16,8
    """
    if like is not None:
        unused = given_options(context) - _WITH_LIKE
        refuse_given(context, unused, "the jobs are those of the run that --like names")
        other = None if topology is None else _paced(topology)
        _show_beside(beside_model(read_run(like), other), as_json=as_json)
        return
    system = _paced(DEFAULT_TOPOLOGY if topology is None else topology)
    sizes = _sizes(processors, split)
    described = application_named(application)
    if not described.has_grid:
        refuse_given(context, {"grid"}, f"means nothing for {described.name}, which has no grid")
    job = ModelJob(
        described.name, _grid(described, grid), _parts(system, sizes, on), interconnect,
        processors_per_node, {} if exchange is None else {"exchange": exchange.value},
    )  # fmt: skip
    _check(system, job)
    row = _row(system, job, iterations)
    if as_json:
        show_rows([row], as_json=True)
        return
    show_rows([_shown(row)], as_json=False, title=f"By the model, on {row['clusters']} of {system.name}; milliseconds")
    if system.uncertainty is None:
        print("No intervals: the topology states no uncertainty (`testbed calibrate --table` finds it).")


def _paced(name: str) -> Topology:
    """Return the topology of that name, whose processors must have costs."""
    system = topology_named(name)
    if system.processor.costs is None:
        raise InvalidInput(
            f"{system.name}: its processors are unpaced, so nothing is known of them (name a topology with a processor "
            "profile: `testbed list topologies`)."
        )
    return system


def _show_beside(found: Sequence[BesideModel], *, as_json: bool) -> None:
    if as_json:
        show_rows([_beside_row(each) for each in found], as_json=True)
        return
    shown = [
        {
            "job": f"{each.job.application} {each.job.grid or ''}".strip(),
            "split": "+".join(str(size) for _, size in each.job.parts),
            "clusters": ",".join(each.job.clusters),
            "jobs": each.jobs,
            "iteration": _milliseconds(each.iteration_s),
            "predicted": _milliseconds(each.predicted_s),
            "error": f"{each.error:+.1%}",
            "verdict": each.judgement,
        }
        for each in found
    ]
    show_rows(shown, as_json=False, title="Measured and predicted iterations; milliseconds")
    errors = [abs(each.error) for each in found]
    print(f"Error: {sum(errors) / len(errors):.1%} in the mean, {max(errors):.1%} at most.")


def _beside_row(each: BesideModel) -> dict[str, object]:
    return {
        "application": each.job.application,
        "grid": each.job.grid or None,
        "split": "+".join(str(size) for _, size in each.job.parts),
        "clusters": ",".join(each.job.clusters),
        "jobs": each.jobs,
        "iteration_s": each.iteration_s,
        "predicted_s": each.predicted_s,
        "error": each.error,
        "verdict": each.judgement,
    }


def _grid(application: ApplicationDescriptor, stated: int | None) -> int:
    if not application.has_grid:
        return NO_GRID
    return DEFAULT_GRID if stated is None else stated


def _check(system: Topology, job: ModelJob) -> None:
    """Raise `InvalidInput` if the nodes are too small for `job`, or its application cannot run it."""
    most, asked = min(system.cluster(name).processors_per_node for name in job.clusters), job.processors_per_node
    if asked is not None and asked > most:
        raise InvalidInput(f"--processors-per-node: the nodes of {system.name} have {most}, not {asked}.")
    objection = application_named(job.application).objection(job.grid, job.processors, job.arguments)
    if objection is not None:
        raise InvalidInput(objection)


def _parts(topology: Topology, sizes: tuple[int, ...], on: str | None) -> tuple[tuple[str, int], ...]:
    """Return the parts of the job, each with its cluster.

    Raises:
        InvalidInput: if there is no such cluster, or more are named than there are parts.
        ImpossibleRequest: if a cluster has fewer processors than its part, or there are too few clusters.
    """
    names = list(topology.cluster_names)
    if on is not None:
        names = [named_among("cluster", name.strip(), topology.cluster_names) for name in on.split(",")]
    if len(names) < len(sizes):
        raise ImpossibleRequest(
            f"--split: {len(sizes)} parts need as many clusters, but only {len(names)} are there; make fewer parts, "
            "or name more clusters with --on."
        )
    if on is not None and len(names) > len(sizes):
        raise InvalidInput(
            f"--on: names {len(names)} clusters, but --split makes {len(sizes)} of the job's parts: name a cluster for "
            f"each part, or divide the job with --split {len(names)}."
        )
    parts = tuple(zip(names, sizes, strict=False))
    for name in dict.fromkeys(names):
        asked = sum(size for cluster, size in parts if cluster == name)
        if asked > topology.cluster(name).processors:
            raise ImpossibleRequest(
                f"{name} has {number_of(topology.cluster(name).processors, 'processor')}, not {asked}; make "
                "smaller parts with --split, or name larger clusters with --on."
            )
    return parts


def _sizes(processors: int | None, split: str | None) -> tuple[int, ...]:
    """Return the sizes of the job's parts; one number is how many equal parts there are.

    Raises:
        InvalidInput: if they are no sizes, do not add up, or are not equal where they should be.
    """
    if split is None:
        return (DEFAULT_PROCESSORS if processors is None else processors,)
    try:
        sizes = tuple(int(size) for size in split.split(","))
    except ValueError:
        raise InvalidInput(f"--split: must be sizes such as 24,16,8, not {split!r}.") from None
    if min(sizes) < 1:
        raise InvalidInput(f"--split: every part has at least 1 processor, not {min(sizes)}.")
    if len(sizes) == 1:
        return equal_components(DEFAULT_PROCESSORS if processors is None else processors, sizes[0])
    if processors is not None and sum(sizes) != processors:
        raise InvalidInput(f"--split: {split} does not add up to {number_of(processors, 'processor')}.")
    return sizes


def _row(topology: Topology, job: ModelJob, iterations: int | None) -> dict[str, object]:
    found, alone = predicted(topology, job), _alone(topology, job)
    share, uncertainty = found.computing_share, topology.uncertainty
    factor = None if alone is None else found.iteration_s / alone.iteration_s
    time_ends = _ends(found.iteration_s, share, None if uncertainty is None else uncertainty.iteration)
    factor_ends = _ends(factor, share, None if uncertainty is None else uncertainty.factor)
    row: dict[str, object] = {
        "application": job.application,
        "grid": job.grid if application_named(job.application).has_grid else None,
        "split": "+".join(str(size) for _, size in job.parts),
        "clusters": ",".join(job.clusters),
        "iteration_s": found.iteration_s,
        "iteration_low_s": time_ends[0],
        "iteration_high_s": time_ends[1],
        "compute_s": found.compute_s,
        "border_exchange_s": found.border_exchange_s,
        "meeting_s": found.meeting_s,
        "factor": factor,
        "factor_low": factor_ends[0],
        "factor_high": factor_ends[1],
    }
    if iterations is not None:
        row["runtime_s"] = iterations * found.iteration_s + PassedOnce(topology, job).takes_s(iterations)
    return row


def _ends(
    value: float | None, computing: float, error: RelativeError | None
) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if value is None or error is None else error.interval(value, computing)


def _shown(row: dict[str, object]) -> dict[str, object]:
    """Return the row for people: intervals in one cell, times in milliseconds."""
    grid = "" if row["grid"] is None else f" {row['grid']}"
    found: dict[str, object] = {"job": f"{row['application']}{grid} on {row['split']}"}
    found["iteration"] = _milliseconds(row["iteration_s"])
    if row["iteration_low_s"] is not None:
        found["95%"] = f"{_milliseconds(row['iteration_low_s'])} to {_milliseconds(row['iteration_high_s'])}"
    for name, key in (("compute", "compute_s"), ("borders", "border_exchange_s"), ("meeting", "meeting_s")):
        found[name] = _milliseconds(row[key])
    if row["factor"] is not None:
        found["factor"] = f"{row['factor']:.3g}"
    if row["factor_low"] is not None:
        found["its 95%"] = f"{row['factor_low']:.3g} to {row['factor_high']:.3g}"
    if "runtime_s" in row:
        found["runtime (s)"] = f"{row['runtime_s']:.4g}"
    return found


def _milliseconds(duration_s: object) -> str:
    return f"{duration_s * 1e3:.4g}" if isinstance(duration_s, float) else ""


def _alone(topology: Topology, job: ModelJob) -> Predicted | None:
    """Predict the job in one cluster over its own interconnect; None if it does not fit into any, or is that job."""
    largest = max(topology.clusters, key=lambda cluster: cluster.processors)
    which = job.which
    if largest.processors < job.processors:
        return None
    if len(job.clusters) == 1 and which is not WhichInterconnect.COALLOCATED:
        return None
    return predicted(
        topology,
        ModelJob(
            job.application, job.grid, ((largest.name, job.processors),), WhichInterconnect.SINGLE_CLUSTER,
            arguments=job.arguments,
        ),
    )  # fmt: skip
