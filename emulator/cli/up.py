"""The verb ``up``: bring a testbed up, or check that it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.progress import step_printer
from emulator.cli.testbeds import show_testbed, topology_file
from emulator.model.errors import WideAreaUnfaithful

if TYPE_CHECKING:
    from emulator.containers.wan.measurements import WideAreaReport


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(up)


def up(
    topology: Annotated[str, typer.Option(help="A topology's name in compose/, or a YAML file.")] = "mini",
    name: NameOption = DEFAULT_NAME,
    router: Annotated[
        str, typer.Option(help="Kernel of the wide area's router: auto, kernel (the host's) or uml (a guest's).")
    ] = "auto",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the API on 127.0.0.1; else the first free one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a testbed up, or check that it runs.

    Example: testbed up --topology das2
    """
    from emulator.cli.real_heads import known_heads
    from emulator.containers.state import TestbedSpec
    from emulator.containers.up import bring_up
    from emulator.model.documents import read_document
    from emulator.model.topology import Topology

    file = topology_file(topology)
    heads = known_heads(read_document(file, Topology))
    result = bring_up(TestbedSpec(name, file, router, port, heads), step_printer())
    how = "was already running" if result.was_running else "is running"
    print(f"The testbed {name!r} {how} ({result.host_duration_s:.1f} s).", file=sys.stderr)
    show_testbed(result.state, as_json=as_json)
    if result.wide_area is not None:
        _report_wide_area(result.wide_area)


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
        f"measurements are outside their tolerance, the first: {first} (see `testbed verify`)."
    )
