"""The verb ``shell``: a shell or a command at a cluster's head."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.model.errors import EngineUnavailable, InvalidInput

if TYPE_CHECKING:
    from emulator.hosts.inventory import Host


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
    from emulator.containers.docker_address import engine_address
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
    words = ["exec", "--interactive", *terminal, *place, *(command or ["bash", "-l"])]
    hosts = state.record.hosts
    host = hosts.inventory.host(hosts.host_of(head.name)) if hosts else None
    if host is not None and not host.is_local:
        raise typer.Exit(_through_tunnel(docker_command, host, words))
    os.execv(docker_command, ["docker", "--host", host.engine if host else engine_address(), *words])


def _through_tunnel(docker_command: str, host: Host, words: list[str]) -> int:
    """Run Docker's command at the engine of a host over SSH, which needs none there; return its exit code."""
    from emulator.containers.hosts.tunnels import open_tunnel

    running = subprocess.Popen([docker_command, "--host", open_tunnel(host).url, *words])
    while running.poll() is None:
        # An interrupt from the keyboard is the command's, not this process's.
        with suppress(KeyboardInterrupt):
            running.wait()
    return running.returncode
