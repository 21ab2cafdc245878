"""The entry point of a job: `python3 -m apps APPLICATION ...`, run as every rank of an MPI job.

Reads the arguments, sets the application up, passes the start barrier, iterates, and has rank 0 report `started`,
`finished` and `result`. A `TestbedError` is raised by every rank alike (`failing`).
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from apps.failing import fail_alone, fail_together
from apps.grid import check_components, equal_components
from apps.interconnect import Interconnect
from apps.numerics import NUMERICS, REAL, SAMPLED, UNCHECKED
from apps.pacing import DilatedPacer, NativePacer, Pacer, ProcessorProfile, make_timers_exact, parse_memory
from apps.precedence import at_low_priority, take_short_slices, take_usual_slices
from apps.registry import APPLICATIONS
from apps.tree import PATTERNS
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, TestbedError

if TYPE_CHECKING:
    from mpi4py import MPI

    from apps.application import Application, JobContext
    from apps.setting import JobSetting

# A 1 GHz Pentium III of DAS-2 with 256 KiB of cache. Chosen so that 16 processes in one cluster at dilation 8, with
# the host's own cost of borders and reduction, come to the study's 1.298 ms an iteration at grid 400 and 267 ms at
# grid 4000 (PBS, Table 3); that cost is the host's, so a topology's calibrated profile goes before these.
DAS2_IN_CACHE_NS_PER_POINT = 115.0
DAS2_OUT_OF_CACHE_NS_PER_POINT = 264.0
DAS2_CACHE_BYTES = 256 * 1024


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message[:1].upper()}{message[1:]}; see `{self.prog} --help`.")


@functools.cache
def make_parser(name: str | None = None) -> argparse.ArgumentParser:
    """Return the command line with the arguments of application `name`, or with those of none.

    It is kept, so that ranks find it made in the process that they are forked from.
    """
    parser = _Parser(prog="python3 -m apps", description="Runs one rank of an MPI application of the testbed.")
    applications = parser.add_subparsers(dest="application", required=True, metavar="APPLICATION")
    for listed, descriptor in APPLICATIONS.items():
        example = f"Example: mpirun -n 16 python3 -m apps {listed} {descriptor.example} --dilation 8 --clusters 2"
        added = applications.add_parser(listed, help=descriptor.summary, epilog=example, allow_abbrev=False)
        if listed == name:
            import_module(descriptor.module).add_arguments(added)
            _add_common_arguments(added)
    return parser


def _add_common_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dilation", type=float, default=1.0, metavar="K", help="host seconds per emulated second (1)")
    add("--clusters", type=int, default=1, metavar="C", help="how many clusters the ranks are spread over (1)")
    add("--components", metavar="S,S,..", help="the components' sizes, ranks in order (equal, one a cluster)")
    add("--start-at", type=float, metavar="EPOCH_S", help="host wall clock before which no rank starts to iterate")
    add("--start-announced", action="store_true",
        help="wait for a line on rank 0's standard input: the start as for --start-at, the longest wait")  # fmt: skip
    add("--native", action="store_true", help="do not pace: compute at the host's own speed")
    add("--in-cache-ns-per-point", type=float, default=DAS2_IN_CACHE_NS_PER_POINT, metavar="NS",
        help="emulated cost of a point when the points fit the cache (%(default)s)")  # fmt: skip
    add("--out-of-cache-ns-per-point", type=float, default=DAS2_OUT_OF_CACHE_NS_PER_POINT, metavar="NS",
        help="emulated cost of a point when they do not (%(default)s)")  # fmt: skip
    add("--cache-bytes", type=int, default=DAS2_CACHE_BYTES, metavar="B",
        help="the emulated processor's cache (%(default)s)")  # fmt: skip
    add("--memory", metavar="WAYS:FIRST_LEVEL_BYTES:SHARED_SHARE:LONG_ROW_NS",
        help="the node's memory, which makes a point's cost a curve (default: a step at the cache's size)")  # fmt: skip
    add("--per-node", default="1", metavar="N,N,..",
        help="ranks of a node, which share its memory, in each component's cluster or in all (1)")  # fmt: skip
    add("--weight", type=float, default=1.0, metavar="W",
        help="what the application's update of a point costs relative to Poisson's (%(default)s)")  # fmt: skip
    add("--numerics", choices=NUMERICS, default=REAL,
        help="sampled: most iterations are paced and communicate, but do not compute (%(default)s)")  # fmt: skip
    add("--shared-nodes", metavar="NODE,NODE,..",
        help="the node of each rank, where tasks share nodes in time (default: a processor for each rank)")  # fmt: skip
    add("--clocks-ahead-s", default="", metavar="S,S,..",
        help="how far the clock in each cluster is ahead of that which the start is stated by (0)")  # fmt: skip
    add("--interconnect", metavar="NAME:latency_s:rate_mbit:message_s",
        help="pace messages inside clusters to this interconnect (default: shared memory, unpaced)")  # fmt: skip
    add("--collectives", choices=PATTERNS, default="tree", help="the pattern of collectives (%(default)s)")
    add("--far-stretch", type=float, default=1.0, metavar="X",
        help="how many times the wide area's delay a message between clusters takes (1)")  # fmt: skip
    add("--far-delays-s", default="", metavar="S,S,..",
        help="with --far-stretch: the delays between clusters: 1 to 2, 1 to 3, .., 2 to 1, 2 to 3, ..")  # fmt: skip


def read_setting(arguments: argparse.Namespace, processes: int) -> JobSetting:
    """Read the job's setting from the parsed command line; `processes` is the number of ranks that run.

    Raises:
        InvalidInput: if an argument is out of range or the components do not add up to the processes.
    """
    from apps.setting import JobSetting

    if arguments.components is None:
        components = equal_components(processes, arguments.clusters)
    else:
        components = _sizes("--components", arguments.components)
    check_components(components, processes, arguments.clusters)
    profile = ProcessorProfile(
        arguments.in_cache_ns_per_point,
        arguments.out_of_cache_ns_per_point,
        arguments.cache_bytes,
        None if arguments.memory is None else parse_memory(arguments.memory),
    )
    return JobSetting(
        Dilation(arguments.dilation),
        arguments.clusters,
        components,
        None if arguments.native else profile,
        arguments.weight,
        None if arguments.interconnect is None else Interconnect.parse(arguments.interconnect),
        _sizes("--per-node", arguments.per_node),
        arguments.collectives,
        _seconds("--far-delays-s", arguments.far_delays_s),
        arguments.far_stretch,
        sampled=arguments.numerics == SAMPLED,
        shared_nodes=() if arguments.shared_nodes is None else tuple(arguments.shared_nodes.split(",")),
        clocks_ahead_s=_seconds("--clocks-ahead-s", arguments.clocks_ahead_s),
    )


def _sizes(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InvalidInput(f"{option} must be sizes such as 8,8, not {text!r}.") from None


def _seconds(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each_s) for each_s in text.split(",")) if text else ()
    except ValueError:
        raise InvalidInput(f"{option} must be seconds such as 0.002,0.003, not {text!r}.") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run this rank; return the exit code of the process."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        run(*at_low_priority(functools.partial(_begin, words)))
    except TestbedError as error:
        return fail_together(error)
    except Exception as error:
        return fail_alone(error)
    return 0


def _begin(words: Sequence[str]) -> tuple[MPI.Comm, argparse.Namespace, object]:
    arguments = make_parser(words[0] if words else None).parse_args(words)
    options = import_module(APPLICATIONS[arguments.application].module).read_options(arguments)
    from apps.start.mpi import world

    return world(), arguments, options


def run(communicator: MPI.Comm, arguments: argparse.Namespace, options: object) -> None:
    """Run the application on all ranks of `communicator`; rank 0 reports.

    Raises:
        TestbedError: at every rank alike.
    """
    from apps.announcement import await_announcement
    from apps.timeline import pass_finish_barrier, pass_start_barrier

    job, application = at_low_priority(functools.partial(_set_up, communicator, arguments, options))
    if job.setting.profile is not None:
        take_short_slices()
        if job.messenger.sends_in_host_time:
            make_timers_exact()
    if arguments.start_announced:
        pass_start_barrier(job, *await_announcement(job))
    else:
        pass_start_barrier(job, arguments.start_at)
    application.iterate()
    pass_finish_barrier(job)
    take_usual_slices()
    at_low_priority(functools.partial(_report, arguments, job, application))


def _set_up(communicator: MPI.Comm, arguments: argparse.Namespace, options: object) -> tuple[JobContext, Application]:
    """Make this rank's application, and connect the rank with those that it exchanges messages with."""
    from apps.application import JobContext

    descriptor = APPLICATIONS[arguments.application]
    setting = read_setting(arguments, communicator.size)
    if setting.sampled and getattr(options, "tolerance", 0.0) > 0.0:
        raise InvalidInput("--numerics sampled has no solution to converge to: set --tolerance 0 and the iterations.")
    # First: the arbiter of shared nodes frees a node's interface for its first rank, before any rank maps it.
    pacer = _pacer(setting, communicator.rank)
    job = JobContext.of_rank(communicator, setting, pacer)
    application: Application = getattr(import_module(descriptor.module), descriptor.class_name)(job, options)
    job.messenger.connect()
    return job, application


def _report(arguments: argparse.Namespace, job: JobContext, application: Application) -> None:
    """Gather what all ranks measured; rank 0 reports it as `result`."""
    from apps.record import gather_record
    from apps.start.mpi import meet
    from apps.timeline import report_event
    from apps.wide_area_bytes import gather_wide_area_bytes

    meet(job.communicator)
    record = gather_record(job.communicator, job.setting, application.times, job.pacer.count, job.messenger.count)
    results = application.results() | {"numerics": arguments.numerics}
    if job.setting.sampled:
        results |= {key: None for key in UNCHECKED if key in results}
    job.collectives.free()
    crossed = gather_wide_area_bytes(job.communicator, job.setting)
    if record is not None:
        report = {"application": arguments.application, **results, **record, "wide_area_bytes": crossed}
        report_event("result", record=report)


def _pacer(setting: JobSetting, rank: int) -> Pacer:
    """Return the pacer of a rank: of a processor of its own, of one that it shares, or of none that is emulated."""
    if setting.profile is None:
        return NativePacer()
    if setting.shared_nodes:
        from apps.shared_pacing import SharedPacer

        return SharedPacer(setting.dilation, setting.shared_nodes[rank], setting.nodes_beside(rank))
    from apps.kernels.messages import sleep_until

    return DilatedPacer(setting.dilation, sleep_until)
