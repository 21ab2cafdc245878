"""The verb ``logs``: what the testbed's containers printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.foreign_text import pass_on
from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.model.errors import InvalidInput, TestbedNotUp
from emulator.model.names import named_among

if TYPE_CHECKING:
    from emulator.containers.state import TestbedState


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(logs)


def logs(
    part: Annotated[str | None, typer.Argument(help="A cluster, wan or broker; all of them if none is named.")] = None,
    name: NameOption = DEFAULT_NAME,
    lines: Annotated[int, typer.Option(min=1, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
) -> None:
    """Print what the testbed's containers wrote.

    Example: testbed logs broker --follow
    """
    from emulator.containers import engine
    from emulator.containers.hosts.connecting import engine_of
    from emulator.containers.hosts.engines import unreached_parts
    from emulator.containers.state import testbed_state

    state = testbed_state(name)
    known = _parts(state)
    if part is not None:
        part = named_among("part of the testbed", part, known)
    if follow and part is None:
        raise InvalidInput(f"Only one part can be followed: name one of {', '.join(known)}.")
    client = engine_of(state.record)
    present = {container.name: container for container in engine.containers_of(client, name)}
    lost = unreached_parts(client)
    for shown in [part] if part else known:
        container = present.get(f"{name}-{shown}")
        if f"{name}-{shown}" in lost:
            raise TestbedNotUp(lost[f"{name}-{shown}"])
        if container is None:
            raise TestbedNotUp(f"The container {name}-{shown} is gone (renew the testbed with `testbed up`).")
        for chunk in container.logs(stream=True, follow=follow, tail=lines):
            for line in chunk.decode(errors="replace").splitlines():
                pass_on(f"{line}\n" if part else f"{shown} | {line}\n", sys.stdout, flush=follow)


def _parts(state: TestbedState) -> list[str]:
    """Return the parts that have a container; the router has one only beside emulated clusters."""
    clusters = [cluster.name for cluster in state.record.clusters]
    return [*clusters, "wan", "broker"] if clusters else ["broker"]
