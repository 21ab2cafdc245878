"""The verb ``doctor``: what this host, and the real clusters of a topology, have and lack for a testbed."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.completion import topologies
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import topology_file
from emulator.model.errors import EngineUnavailable


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(doctor)


def doctor(
    topology: Annotated[
        str | None,
        typer.Option(help="Check the heads of this topology's real clusters, too.", autocompletion=topologies),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check what this host, and the real clusters of a topology, have and lack for a testbed.

    Example: testbed doctor --topology ./ours.yaml
    """
    from emulator.cli.real_heads import head_findings
    from emulator.containers.doctor import examine
    from emulator.model.documents import read_document
    from emulator.model.topology import Topology

    real = head_findings(read_document(topology_file(topology), Topology)) if topology else []
    findings = [*examine(), *real]
    rows = [
        {
            "check": finding.check,
            "ok": finding.ok,
            "found": finding.found,
            "remedy": "" if finding.ok else finding.remedy,
        }
        for finding in findings
    ]
    show_rows(rows, as_json=as_json)
    lacking = [finding.check for finding in findings if finding.needed and not finding.ok]
    if lacking:
        raise EngineUnavailable(f"No testbed can run here yet; missing: {', '.join(lacking)} (see above).")
