"""The verb ``up``: bring a testbed up, or mend the one that exists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli import completion
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.progress import step_printer
from emulator.cli.testbeds import show_testbed, topology_file
from emulator.model.errors import InvalidInput, WideAreaUnfaithful

if TYPE_CHECKING:
    from emulator.containers.wan.measurements import WideAreaReport


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(up)


def up(
    named: Annotated[str | None, typer.Argument(hidden=True)] = None,
    topology: Annotated[
        str, typer.Option(help="A topology's name in compose/, or a YAML file.", autocompletion=completion.topologies)
    ] = "mini",
    name: NameOption = DEFAULT_NAME,
    router: Annotated[
        str, typer.Option(help="Kernel of the wide area's router: auto, kernel (the host's) or uml (a guest's).")
    ] = "auto",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the API on 127.0.0.1; else the first free one.")
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Remove what exists under that name first, with its jobs, outputs and files."),
    ] = False,
    hosts: Annotated[
        Path | None,
        typer.Option(help="Spread it over the hosts of this inventory (see `testbed hosts check`).", metavar="FILE"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a testbed up, or mend the one that exists.

    What does not run, is not healthy or has lost its networks is started again in its place: jobs, outputs, files and
    token stay, and so does the port unless it was taken meanwhile. Nodes that Slurm itself drained are resumed.

    Example: testbed up --topology das2
    """
    if named is not None:
        raise InvalidInput(f"`up` takes its topology as an option: `testbed up --topology {named}`.")
    from emulator.cli.real_heads import known_heads
    from emulator.containers.state import TestbedSpec
    from emulator.containers.up import bring_up
    from emulator.model.documents import read_document
    from emulator.model.topology import Topology
    from emulator.runs.container_testbed import check_if_free, clear_background

    file = topology_file(topology)
    heads = known_heads(read_document(file, Topology))
    for sentence in heads.sentences():
        print(sentence, file=sys.stderr)
    lines, routes, agent = heads.known_hosts_lines, heads.routes, heads.agent
    spec = TestbedSpec(name, file, router, port, lines, fresh, hosts, routes=routes, agent=agent)
    result = bring_up(spec, step_printer())
    how = "is running"
    if result.existed:
        how = "was mended" if result.was_mended else "was already running"
        clear_background(name)
    print(f"The testbed {name!r} {how} ({result.host_duration_s:.1f} s).", file=sys.stderr)
    # The broker may only now notice that a cluster was away.
    show_testbed(result.state, as_json=as_json, patient=result.was_mended)
    report = check_if_free(name) if result.was_mended else result.wide_area
    if report is not None:
        _report_wide_area(report)
    elif result.was_mended and result.state.topology.emulated is not None:
        print("wide area not checked: a run holds the testbed, or jobs run (see `testbed verify`)", file=sys.stderr)


def _report_wide_area(report: WideAreaReport) -> None:
    """Say what the short check of the links found.

    Raises:
        WideAreaUnfaithful: if a link is not as asked; the testbed stays up.
    """
    from emulator.containers.wan.measurements import Quantity

    delays, rates = len(report.of(Quantity.DELAY)), len(report.of(Quantity.RATE))
    if report.ok:
        print(f"wide area checked: {delays} delays and {rates} rates as asked", file=sys.stderr)
        return
    first = next(
        (
            f"{failure.quantity.value} from {failure.source} to {failure.target} is {failure.measured:.4g}"
            for failure in report.failures
        ),
        "; ".join(report.differences[:1]),
    )
    raise WideAreaUnfaithful(
        f"The testbed is up, but its wide area is not as asked: {len(report.failures)} of {len(report.measurements)} "
        f"measurements are outside their tolerance, the first: {first} ({_remedy()})."
    )


def _remedy() -> str:
    """Return what to do about links that are not as asked."""
    from emulator.containers import this_kernel
    from emulator.containers.obstacles import BRIDGE_FILTER_OFF

    if this_kernel.filters_bridges():
        return f"see `testbed verify`; if nothing arrives under Docker 28.2 or later, {BRIDGE_FILTER_OFF}"
    return "see `testbed verify`"
