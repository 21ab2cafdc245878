"""The verbs of ``hosts``: the hosts over which a testbed is to spread."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.cli import completion
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import topology_file

if TYPE_CHECKING:
    from emulator.hosts.checks import HostFinding

hosts_app = typer.Typer(
    help="Check the hosts over which a testbed is to spread, and show what each would carry.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.add_typer(hosts_app, name="hosts")


@hosts_app.callback()
def _hosts() -> None:
    """Hold the verb's name, also while it has a single verb of its own."""


@hosts_app.command("check")
def check(
    file: Annotated[
        Path, typer.Argument(help="The inventory: a YAML file.", metavar="FILE", autocompletion=completion.documents)
    ],
    topology: Annotated[
        str | None,
        typer.Option(help="Show which host would carry what of this topology.", autocompletion=completion.topologies),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every host of an inventory: engine, Swarm, processors, MTU, ports, subnets, clocks. Changes nothing.

    Example: testbed hosts check hosts.yaml --topology das2
    """
    from emulator.containers.hosts.engines import open_engines
    from emulator.containers.hosts.preparing import described, examine_hosts, layout_of
    from emulator.hosts.checks import require_fit
    from emulator.hosts.inventory import HostInventory
    from emulator.model.documents import read_document
    from emulator.model.topology import Topology

    inventory = read_document(file, HostInventory)
    wanted = read_document(topology_file(topology), Topology) if topology else None
    engines, known, found = examine_hosts(open_engines(inventory), inventory)
    rows = [_row(each) for each in found]
    may_lay_out = wanted is not None and all(each.finding.ok or not each.finding.needed for each in found)
    if wanted is not None and may_lay_out:
        layout = layout_of(inventory, known, wanted, engines.central)
        rows += [
            {"host": host, "check": "carries", "ok": True, "found": described(layout, host), "remedy": ""}
            for host in inventory.names
        ]
    show_rows(rows, as_json=as_json)
    if wanted is not None and not may_lay_out:
        print("no layout: the hosts lack what is named above", file=sys.stderr)
    require_fit(found)


def _row(each: HostFinding) -> dict[str, Any]:
    finding = each.finding
    return {
        "host": each.host,
        "check": finding.check,
        "ok": finding.ok,
        "found": finding.found,
        "remedy": "" if finding.ok else finding.remedy,
    }
