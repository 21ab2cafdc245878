"""The verb ``shell``: a shell or a command at a cluster's head."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import typer

from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.model.errors import EngineUnavailable, InvalidInput


def register(app: typer.Typer) -> None:
    """Add the verb to `app`; words that look like options go to the command at the head."""
    app.command(context_settings={"ignore_unknown_options": True})(shell)


def shell(
    cluster: Annotated[str, typer.Argument(help="The cluster to log in to.")],
    command: Annotated[list[str] | None, typer.Argument(help="A command instead of a shell (after --).")] = None,
    name: NameOption = DEFAULT_NAME,
) -> None:
    """Open a shell at a cluster's head, as its user.

    Example: testbed shell delft -- sinfo
    """
    from emulator.containers.names import USER
    from emulator.containers.state import testbed_state

    state = testbed_state(name)
    head = state.topology.cluster(cluster)
    if head.ssh is not None:
        raise InvalidInput(f"Cluster {cluster!r} is real: log in with `{head.ssh.ssh_command}`.")
    docker_command = shutil.which("docker")
    if docker_command is None:
        raise EngineUnavailable("The command `docker` is not installed (on Debian: `apt-get install docker.io`).")
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    home = f"/home/{USER}"
    place = ["--user", USER, "--workdir", home, "--env", f"HOME={home}", state.names.cluster(head.name)]
    hosts = state.record.hosts
    there = ["--host", hosts.inventory.host(hosts.host_of(head.name)).engine] if hosts else []
    words = ["exec", "--interactive", *terminal, *place, *(command or ["bash", "-l"])]
    os.execv(docker_command, ["docker", *there, *words])
