"""The verb ``export``: a topology or runs in the formats of other tools (`emulator.reports.exports`), in a folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from apps.descriptor import ExchangeMode
from apps.grid import equal_components
from emulator.cli.completion import topologies_and_runs
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.options import JsonOption, make_folder, run_path
from emulator.cli.prediction_options import Exchange, InterconnectOption
from emulator.cli.tables import show_rows
from emulator.model.catalogue import topology_named
from emulator.model.counts import number_of
from emulator.model.documents import document_text
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.interconnects import Interconnect, WhichInterconnect
from emulator.model.names import named_among
from emulator.model.topology import Topology
from emulator.model.whole_files import written_whole
from emulator.reports.exports.batsim import batsim_files
from emulator.reports.exports.coallocation_trace import coallocation_trace
from emulator.reports.exports.data_package import trace_files
from emulator.reports.exports.grid_skeleton import GRID_APPLICATIONS, SkeletonJob
from emulator.reports.exports.gwf import gwf_lines
from emulator.reports.exports.simgrid import COMMANDS_FILE, commands, simgrid_files
from emulator.reports.exports.swf import component_lines, swf_log
from emulator.runs.folders import runs_in
from emulator.runs.run_directory import check_free, read_manifest, read_run
from workloads.swf import write_swf

DEFAULT_ITERATIONS: Final = 21
"""The first is not counted, and in the others Laplace's processes meet once."""
LOG_FILE: Final = "jobs.swf"
GRID_LOG_FILE: Final = "jobs.gwf"
COMPONENTS_FILE: Final = "components.csv"
TOPOLOGY_FILE: Final = "topology.yaml"

_OPTIONS_OF: Final = {
    "simgrid": {"application", "grid", "processors", "clusters", "on", "interconnect", "exchange", "iterations"},
    "trace": {"license_name"},
}
"""The options that only one format has, by that format."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("export")(export)


def export(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A topology, or a run's directory; for a trace, a directory of runs, too.",
            metavar="TOPOLOGY|RUN_DIR",
            autocompletion=topologies_and_runs,
        ),
    ],
    format_name: Annotated[
        str, typer.Option("--format", help="simgrid or topology; or, of a run, swf, gwf, batsim or trace.")
    ],
    application: Annotated[
        str, typer.Option("--app", help=f"simgrid: the job's application: {', '.join(GRID_APPLICATIONS)}.")
    ] = GRID_APPLICATIONS[0],
    grid: Annotated[int, typer.Option(help="Its grid points along a side.")] = 400,
    processors: Annotated[int, typer.Option(help="Its processors.")] = 16,
    clusters: Annotated[int, typer.Option(help="The clusters that it is spread over, in equal components.")] = 1,
    on: Annotated[str | None, typer.Option(help="The names of these clusters, in order, joined by commas.")] = None,
    interconnect: InterconnectOption = None,
    exchange: Annotated[
        Exchange | None, typer.Option(help="Borders one after another, or all at once; else as the application does.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="Iterations to predict.")] = DEFAULT_ITERATIONS,
    license_name: Annotated[
        str | None, typer.Option("--license", help="trace: the license that it states, such as CC-BY-4.0.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write: a directory, new or empty; by default one in ./runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write files for other tools: a job on a topology for SimGrid's SMPI to predict, or the jobs of a run.

    Example: testbed export das2 --format simgrid --grid 4000 --processors 16 --clusters 2 --out smpi
    """
    chosen = named_among("export format", format_name, sorted(_FORMATS))
    for owner, options in _OPTIONS_OF.items():
        if chosen != owner:
            refuse_given(context, options, f"only --format {owner} has this, not {chosen}")
    job = _Job(
        named_among("grid application", application, GRID_APPLICATIONS),
        grid,
        processors,
        clusters,
        on,
        interconnect,
        None if exchange is None else exchange.value,
        iterations,
    )
    _FORMATS[chosen](source, _Stated(job, license_name), out, as_json)


@dataclass(frozen=True, slots=True)
class _Job:
    """The job that is to be predicted, as it was asked for."""

    application: str
    grid: int
    processors: int
    clusters: int
    on: str | None
    interconnect: WhichInterconnect | None
    exchange: ExchangeMode | None
    iterations: int

    def on_topology(self, topology: Topology) -> SkeletonJob:
        """Return the job on the named clusters of `topology`, or on its first emulated ones.

        Raises:
            ImpossibleRequest: if there are too few clusters, or the processors cannot be divided equally.
            InvalidInput: if more clusters are named than the job is spread over.
        """
        if self.on is None:
            names = [cluster.name for cluster in topology.clusters if not cluster.is_real]
        else:
            names = [named_among("cluster", name.strip(), topology.cluster_names) for name in self.on.split(",")]
        if not 1 <= self.clusters <= len(names):
            raise ImpossibleRequest(f"The job needs 1 to {number_of(len(names), 'cluster')}, not {self.clusters}.")
        if self.on is not None and len(names) > self.clusters:
            raise InvalidInput(
                f"--on: names {number_of(len(names), 'cluster')}, but the job is spread over {self.clusters}: name as "
                f"many as that, or take --clusters {len(names)}."
            )
        if self.processors % self.clusters:
            raise ImpossibleRequest(
                f"{number_of(self.processors, 'processor')} cannot be divided over {self.clusters} clusters: take a "
                "multiple."
            )
        components = equal_components(self.processors, self.clusters)
        chosen = tuple(names[: self.clusters])
        return SkeletonJob(self.grid, self.iterations, components, chosen, self.exchange, self.application)

    def interconnect_of(self, topology: Topology) -> Interconnect | None:
        """Return the interconnect that carries its messages inside clusters."""
        return topology.interconnects.of(self.clusters, self.interconnect)


@dataclass(frozen=True, slots=True)
class _Stated:
    """What only some formats use: the job for SimGrid, and the license of a trace."""

    job: _Job
    license_name: str | None


def _topology_of(source: str) -> Topology:
    """Return the topology with that name or in that file, or the topology of the run in that directory."""
    return read_manifest(Path(source)).topology if Path(source).is_dir() else topology_named(source)


def _export_simgrid(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    topology = _topology_of(source)
    job = stated.job.on_topology(topology)
    files = simgrid_files(topology, stated.job.interconnect_of(topology), job)
    folder = _folder(out, f"simgrid-{topology.name}")
    _write(folder, files)
    _show(folder, list(files), as_json, {"commands": commands(job)})
    if not as_json:
        say("With SimGrid (Debian: libsimgrid-dev), in that folder:")
        for command in commands(job):
            say(f"  {command}")
        say(f"or both at once: sh {shlex.quote(str(folder / COMMANDS_FILE))}")


def _export_topology(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    topology = _topology_of(source)
    folder = _folder(out, f"topology-{topology.name}")
    _write(folder, {TOPOLOGY_FILE: document_text(topology)})
    _show(folder, [TOPOLOGY_FILE], as_json)


def _export_swf(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    run = read_run(Path(source))
    header, records = swf_log(run)
    folder = _folder(out, f"swf-{run.manifest.name}")
    write_swf(header, records, folder / LOG_FILE)
    _write(folder, {COMPONENTS_FILE: "".join(f"{line}\n" for line in component_lines(run))})
    _show(folder, [LOG_FILE, COMPONENTS_FILE], as_json)


def _export_gwf(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    run = read_run(Path(source))
    content = "".join(f"{line}\n" for line in gwf_lines(run))
    folder = _folder(out, f"gwf-{run.manifest.name}")
    _write(folder, {GRID_LOG_FILE: content})
    _show(folder, [GRID_LOG_FILE], as_json)


def _export_batsim(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    run = read_run(Path(source))
    files = batsim_files(run)
    folder = _folder(out, f"batsim-{run.manifest.name}")
    _write(folder, files)
    _show(folder, list(files), as_json)


def _export_trace(source: str, stated: _Stated, out: Path | None, as_json: bool) -> None:
    path = Path(source)
    files = trace_files(coallocation_trace([read_run(each) for each in runs_in(path)]), stated.license_name)
    folder = _folder(out, f"trace-{path.resolve().name}")
    _write(folder, files)
    _show(folder, list(files), as_json)


def _folder(out: Path | None, name: str) -> Path:
    """Make the folder to write into, new or empty."""
    folder = run_path(out, name)
    check_free(folder)
    return make_folder(folder)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        with written_whole(folder / name) as text:
            text.write(content)


def _show(folder: Path, files: list[str], as_json: bool, beside: Mapping[str, object] | None = None) -> None:
    if as_json:
        show_rows([{"folder": str(folder), "files": files, **(beside or {})}], as_json=True)
    else:
        say(f"Written: {', '.join(files)} in {folder}.")


_FORMATS: Final[Mapping[str, Callable[[str, _Stated, Path | None, bool], None]]] = {
    "simgrid": _export_simgrid,
    "topology": _export_topology,
    "swf": _export_swf,
    "gwf": _export_gwf,
    "batsim": _export_batsim,
    "trace": _export_trace,
}
