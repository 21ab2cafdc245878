"""The verb ``put``: a user's files, copied into the home folders of the clusters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.foreign_text import say
from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.model.errors import InvalidInput
from emulator.model.names import named_among

if TYPE_CHECKING:
    from emulator.model.topology import Topology


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(put)


def put(
    files: Annotated[list[Path], typer.Argument(help="The files, each by its path.", metavar="FILE...")],
    to: Annotated[
        str | None, typer.Option("--to", help="Only these clusters, for instance delft,leiden.", metavar="CLUSTER,...")
    ] = None,
    name: NameOption = DEFAULT_NAME,
) -> None:
    """Copy files into the home folder of every cluster, where jobs find them: programs of your own, and their data.

    Example: testbed put heat heat.cfg --to delft,leiden
    """
    from emulator.containers.home_files import HOME, check_files, packed, put_files
    from emulator.containers.hosts.connecting import engine_of
    from emulator.containers.state import testbed_state

    check_files(files)
    state = testbed_state(name)
    clusters, real = _clusters(state.topology, to)
    client = engine_of(state.record)
    with packed(files) as archive:
        for cluster in clusters:
            put_files(client, state.names.cluster(cluster), archive)
    there = ", ".join(file.name for file in files)
    if clusters:
        say(f"{HOME} of {', '.join(clusters)}: {there}")
    for cluster in real:
        print(f"Cluster {cluster!r} is real, and got nothing: copy the files there yourself.", file=sys.stderr)


def _clusters(topology: Topology, asked: str | None) -> tuple[list[str], list[str]]:
    """Return the clusters to copy to, and the real ones that get nothing because nobody named them.

    Raises:
        UnknownName: if there is no such cluster.
        InvalidInput: if a real one is named.
    """
    known = [cluster.name for cluster in topology.clusters]
    if asked is None:
        real = [cluster.name for cluster in topology.clusters if cluster.is_real]
        return [each for each in known if each not in real], real
    named = list(dict.fromkeys(named_among("cluster", each.strip(), known) for each in asked.split(",")))
    for each in named:
        head = topology.cluster(each).ssh
        if head is not None:
            raise InvalidInput(
                f"Cluster {each!r} is real: copy the files there yourself, as you log in (`{head.ssh_command}`)."
            )
    return named, []
