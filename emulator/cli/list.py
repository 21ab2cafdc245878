"""The verb ``list``: what comes with the testbed, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.project import CAMPAIGNS, PROCESSORS, TOPOLOGIES, names_in


class Listed(StrEnum):
    """The kinds of things that can be listed."""

    POLICIES = "policies"
    QUEUES = "queues"
    TOPOLOGIES = "topologies"
    CAMPAIGNS = "campaigns"
    APPLICATIONS = "applications"
    PROCESSORS = "processors"


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("list")(list_names)


def list_names(
    kind: Annotated[
        Listed | None, typer.Argument(help="Of what; everything if left out.", case_sensitive=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List what comes with the testbed by name, each with a line about it.

    Names are read without regard to capital letters.

    Example: testbed list policies
    """
    chosen = list(Listed) if kind is None else [kind]
    rows = [
        {**({"kind": each.value} if kind is None else {}), "name": name, "description": line}
        for each in chosen
        for name, line in _LINES[each]().items()
    ]
    show_rows(rows, as_json=as_json)


def _policies() -> Mapping[str, str]:
    from emulator.policies.names import NODE_POLICIES, POLICIES

    return POLICIES | NODE_POLICIES


def _queues() -> Mapping[str, str]:
    from emulator.policies.names import NODE_QUEUES, QUEUES

    return QUEUES | NODE_QUEUES


def _applications() -> Mapping[str, str]:
    from apps.registry import APPLICATIONS

    return {name: found.summary for name, found in APPLICATIONS.items()}


def _processors() -> Mapping[str, str]:
    from emulator.model.processor import processor_named

    return {name: processor_named(name).described.removeprefix(f"{name}, ") for name in names_in(PROCESSORS)}


def _described_in(folder: Path) -> Mapping[str, str]:
    """Return the names of the documents in `folder`, each with its description."""
    from emulator.model.documents import read_content

    found: dict[str, str] = {}
    for name in names_in(folder):
        content = read_content(folder / f"{name}.yaml")
        found[name] = str(content.get("description", "")) if isinstance(content, dict) else ""
    return found


_LINES: Final[Mapping[Listed, Callable[[], Mapping[str, str]]]] = {
    Listed.POLICIES: _policies,
    Listed.QUEUES: _queues,
    Listed.TOPOLOGIES: lambda: _described_in(TOPOLOGIES),
    Listed.CAMPAIGNS: lambda: _described_in(CAMPAIGNS),
    Listed.APPLICATIONS: _applications,
    Listed.PROCESSORS: _processors,
}
