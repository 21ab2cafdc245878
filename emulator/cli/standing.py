"""The verbs about the host and what stands: ``doctor``, ``up``, ``down``, ``status``, ``shell`` and ``logs``."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from emulator.cli.real_heads import head_findings, known_heads
from emulator.cli.tables import JsonOption, show_rows
from emulator.containers import engine, lifecycle
from emulator.containers.doctor import examine
from emulator.containers.events import Progress
from emulator.containers.inspection import TestbedStatus, inspect
from emulator.containers.names import USER
from emulator.containers.state import StandState, standing
from emulator.containers.wan.measurements import Quantity, WideAreaReport
from emulator.model.documents import read_document
from emulator.model.errors import EngineUnavailable, InvalidInput, NotStanding, UnknownName, WideAreaUnfaithful
from emulator.model.house import HOUSE, locate
from emulator.model.topology import Topology

DEFAULT_NAME: Final = "testbed"
NameOption = Annotated[
    str, typer.Option("--name", envvar="TESTBED_NAME", help="Name of the testbed; several may stand side by side.")
]
_PARTS: Final = ("wan", "broker")


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.command()(doctor)
    app.command()(up)
    app.command()(down)
    app.command()(status)
    app.command(context_settings={"ignore_unknown_options": True})(shell)
    app.command()(logs)


def doctor(
    topology: Annotated[
        str | None, typer.Option(help="Look the heads of this topology's real clusters over, too.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What this host, and the real clusters of a topology, have and lack for a testbed, and what to do about it.

    Example: testbed doctor --topology ./ours.yaml
    """
    real = head_findings(_topology(_topology_file(topology))) if topology else []
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
        raise EngineUnavailable(f"No testbed can stand here yet: what lacks is {', '.join(lacking)} (see above).")


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
    """Bring a testbed up, or check that it stands.

    Example: testbed up --topology das2
    """
    file = _topology_file(topology)
    heads = known_heads(_topology(file))
    wanted = lifecycle.Wanted(name, file, router, port, heads)
    stands = lifecycle.up(wanted, _narrator())
    how = "stood already" if stands.was_standing else "stands"
    print(f"The testbed {name!r} {how} ({stands.host_duration_s:.1f} s).", file=sys.stderr)
    _show(stands.state, as_json)
    if stands.wide_area is not None:
        _conclude_wide_area(stands.wide_area)


def down(
    name: NameOption = DEFAULT_NAME,
    everything: Annotated[bool, typer.Option("--all", help="Take every testbed of this host down.")] = False,
) -> None:
    """Take a testbed down: containers, networks, volumes and state.

    Example: testbed down --name second
    """
    begun = time.monotonic()
    if everything:
        names = lifecycle.down_all(_narrator())
        if not names:
            raise NotStanding("No testbed stands, so there is nothing to take down.")
    else:
        lifecycle.down(name, _narrator())
        names = [name]
    print(f"Down: {', '.join(names)} ({time.monotonic() - begun:.1f} s).", file=sys.stderr)


def status(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """What stands: clusters, idle processors, router and API.

    Example: testbed status --json
    """
    _show(standing(name), as_json)


def shell(
    cluster: Annotated[str, typer.Argument(help="The cluster to log in to.")],
    command: Annotated[list[str] | None, typer.Argument(help="A command instead of a shell (after --).")] = None,
    name: NameOption = DEFAULT_NAME,
) -> None:
    """A shell at a cluster's head, as its user.

    Example: testbed shell delft -- sinfo
    """
    stood = standing(name)
    at = stood.topology.cluster(cluster)
    if at.ssh is not None:
        raise InvalidInput(
            f"Cluster {cluster!r} is real: log in with `ssh -p {at.ssh.port} {at.ssh.user}@{at.ssh.host}`."
        )
    container = stood.names.cluster(at.name)
    docker_command = shutil.which("docker")
    if docker_command is None:
        raise EngineUnavailable("The command `docker` is not installed (on Debian: `apt-get install docker.io`).")
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    place = ["--user", USER, "--workdir", f"/home/{USER}", "--env", f"HOME=/home/{USER}", container]
    os.execv(docker_command, ["docker", "exec", "--interactive", *terminal, *place, *(command or ["bash", "-l"])])


def logs(
    part: Annotated[str | None, typer.Argument(help="A cluster, wan or broker; all of them if none is named.")] = None,
    name: NameOption = DEFAULT_NAME,
    lines: Annotated[int, typer.Option(min=1, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
) -> None:
    """What the testbed's containers printed.

    Example: testbed logs broker --follow
    """
    stood = standing(name)
    known = [*(cluster.name for cluster in stood.record.clusters), *(_PARTS if stood.record.clusters else _PARTS[1:])]
    if part is not None and part not in known:
        raise UnknownName.among("part of the testbed", part, known)
    if follow and part is None:
        raise InvalidInput(f"Only one part can be followed: name one of {', '.join(known)}.")
    client = engine.connect()
    present = {container.name: container for container in engine.containers_of(client, name)}
    for shown in [part] if part else known:
        container = present.get(f"{name}-{shown}")
        if container is None:
            raise NotStanding(f"The container {name}-{shown} is gone (renew the testbed with `testbed up`).")
        for chunk in container.logs(stream=True, follow=follow, tail=lines):
            for line in chunk.decode(errors="replace").splitlines():
                print(line if part else f"{shown} | {line}", flush=follow)


def _topology_file(topology: str) -> Path:
    return Path(locate("topology", topology, HOUSE / "compose"))


def _topology(file: Path) -> Topology:
    return read_document(file, Topology)


def _show(stood: StandState, as_json: bool) -> None:
    """Print what stands.

    Raises:
        NotStanding: if a part of it does not run, after everything is printed.
    """
    found = inspect(engine.connect(), stood)
    rows = [
        {
            "name": cluster.name,
            "nodes": cluster.nodes,
            "processors": cluster.processors,
            "idle": cluster.idle,
            "container": cluster.container,
            "state": cluster.container_state,
        }
        for cluster in found.clusters
    ]
    show_rows(rows, as_json=as_json)
    if not as_json:
        _show_surroundings(stood, found)
    if found.faults:
        raise NotStanding(" ".join(found.faults))


def _show_surroundings(stood: StandState, found: TestbedStatus) -> None:
    print(f"topology    {stood.topology.name}")
    print(f"processors  {stood.topology.processor.described}")
    print(f"messages    inside a cluster: {stood.topology.interconnects.described}")
    if stood.topology.emulated:
        print(f"router      {found.router_backend or 'unknown'} (asked: {stood.record.router_backend})")
        print(f"dilation    {'unknown' if found.dilation is None else f'{found.dilation:g}'}")
    if stood.topology.real_clusters:
        print(f"unshaped    the links of {', '.join(it.name for it in stood.topology.real_clusters)}, which are real")
    print(f"API         {found.api_url}  (token: {stood.folder / 'token'})")


def _conclude_wide_area(report: WideAreaReport) -> None:
    """Say what the short check of the links found.

    Raises:
        WideAreaUnfaithful: if a link is not as asked; the testbed stands all the same.
    """
    delays, links = len(report.of(Quantity.DELAY)), len(report.of(Quantity.RATE))
    if report.ok:
        print(f"wide area checked: {delays} delays and {links} rates as asked", file=sys.stderr)
        return
    first = next(
        (f"{it.quantity.value} from {it.source} to {it.target} is {it.measured:.4g}" for it in report.failures),
        "; ".join(report.differences[:1]),
    )
    raise WideAreaUnfaithful(
        f"The testbed stands, but its wide area is not as asked: {len(report.failures)} of {len(report.measurements)} "
        f"measurements are outside their tolerance, the first: {first} (see `testbed verify`)."
    )


def _narrator() -> Callable[[Progress], None]:
    """An observer that tells each step, with the seconds since the first, on stderr."""
    begun = time.monotonic()
    console = Console(stderr=True, highlight=False)

    def tell(progress: Progress) -> None:
        console.print(f"[dim]{time.monotonic() - begun:6.1f} s[/dim]  {progress.stage}: {progress.detail}")

    return tell
