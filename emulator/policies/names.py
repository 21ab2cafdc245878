"""The placement policies and queue disciplines that come with the testbed: their names, each with a line about it.

Imports none of them, so that the command line can list and complete the names without waiting. `registry` makes the
policies themselves; a unit test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.model.errors import UnknownName
from emulator.model.names import spelled

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS: Final = "multicluster_testbed.policies"
"""The group in which an installed package declares policies and disciplines of its own."""

SINGLE_CLUSTER: Final = "sc"
"""The discipline of one cluster: a simulation merges all clusters into one; a live topology must have only one."""

POLICIES: Final = {
    "wf": "worst fit: each component goes where most processors are idle; clusters may repeat",
    "wf-distinct": "worst fit, each component in another cluster",
    "cm": "cluster minimization: components go where most are idle until that cluster is full, so a job uses few",
    "fcm": "flexible cluster minimization: splits the job's total over as few clusters as possible",
    "cf": "Close-to-Files: where the job's input file is, else where its transfer takes least",
    "by-kind": "every kind of request by its own rule: unordered as wf-distinct, flexible as fcm, all others as wf",
}

QUEUES: Final = {
    "placement": "KOALA's placement queue: all waiting jobs are tried at regular scans",
    "placement-adaptive": "the placement queue; the more tries its jobs have had, the longer until the next scan",
    "gs": "global scheduler: one queue, tried in order of arrival until the head does not fit",
    "ls-or": "local schedulers: a queue for each cluster, visited in a fixed order",
    "ls-rd": "local schedulers, visited in turn from a random one on",
    "ls-ro": "local schedulers; the queue where the departing job releases most processors goes first",
    "ls-do": "local schedulers; the queue that has been disabled longest goes first",
    "gp": "global priority: local queues are tried only while the global queue is empty",
    "lp-lf": "local priority, local queues first: the global queue is tried only while a local queue is empty",
    "lp-gf": "local priority, the global queue before the local ones",
    "lp-rd": "local priority; chance says which kind of queue goes first",
    "fcfs": "first come, first served: all jobs wait until the first fits, as under gs",
    "sjf": "shortest job first, by the users' estimates; all jobs wait until it fits",
    "ljf": "longest job first, by the users' estimates; all jobs wait until it fits",
    "easy": "EASY backfilling: a later job may start first if, by the estimates, it does not delay the first",
    "conservative": "conservative backfilling: a later job may start first if it delays none that arrived before it",
    SINGLE_CLUSTER: "one cluster, for comparison; a simulation makes it of all together, live the topology has one",
}

NODE_POLICIES: Final = {
    "normal": "the least loaded nodes that take another task",
    "normal-alone": "nodes without a task, and none joins them",
    "uniform-light": "nodes that all run the same jobs, or idle ones, whoever works there; if too few, as normal",
    "uniform-hard": "nodes that all run the same jobs, or idle ones, whoever works there; a job waits for them",
}
"""The policies that choose the nodes of a job, where tasks share nodes in time (`emulator.policies.nodes`)."""

NODE_QUEUES: Final = {
    "just-first": "one queue in order of arrival, of which only the first job is tried",
    "best-fit": "the job with most tasks of all that can be placed",
    "backfill": "a later job may start first if, by the estimates, it does not delay the first",
}
"""The disciplines that go with them."""

_OWN: Final = "or a class of your own, mypolicy.py:Mine"
_SHARED: Final = "on nodes shared in time"
POLICY_CHOICES: Final = f"{', '.join(POLICIES)}, {_OWN}; {_SHARED} also {', '.join(NODE_POLICIES)}"
QUEUE_CHOICES: Final = f"{', '.join(QUEUES)}, {_OWN}; {_SHARED} also {', '.join(NODE_QUEUES)}"
"""What may be typed, for the help of options."""


def policy_name(name: str) -> str:
    """Return the name of the policy that `name` means, whatever its case; `name` itself if it is a user's own."""
    return spelled(name, POLICIES | NODE_POLICIES) or name


def queue_name(name: str) -> str:
    """Return the name of the discipline that `name` means, whatever its case; `name` itself if it is a user's own."""
    return spelled(name, QUEUES | NODE_QUEUES) or name


def custom_file(name: str) -> str | None:
    """Return the file part of `name` (``mypolicy.py`` of ``mypolicy.py:Mine``), or None if it names no file."""
    path, colon, _ = name.rpartition(":")
    return path if colon and path.endswith(".py") else None


def plain_name(name: str) -> str:
    """Return `name` without the folder of its file, as records have it; `name` itself if it names no file."""
    file = custom_file(name)
    return name if file is None else f"{Path(file).name}:{name.rpartition(':')[2]}"


def is_entry_point(name: str) -> bool:
    """Return whether a package that is installed here declares a policy or discipline called `name`."""
    return bool(entry_points_called(name))


def entry_points_called(name: str) -> list[EntryPoint]:
    """Return the policies and disciplines called `name` that packages installed here declare."""
    from importlib.metadata import entry_points  # only for a name that is not the testbed's: it takes a while to load

    return [point for point in entry_points(group=ENTRY_POINTS) if point.name == name]


def check_policy_name(name: str) -> None:
    """Raise `UnknownName` unless a placement policy may be called `name`; a user's own is not loaded."""
    _check("policy", name, POLICIES | NODE_POLICIES)


def check_queue_name(name: str) -> None:
    """Raise `UnknownName` unless a queue discipline may be called `name`; a user's own is not loaded."""
    _check("queue", name, QUEUES | NODE_QUEUES)


def _check(kind: str, name: str, known: Iterable[str]) -> None:
    if name.endswith(".py"):
        raise UnknownName(f"The {kind} {name!r} is a file without a class: name its class too, as {name}:CLASS.")
    if spelled(name, known) is None and custom_file(name) is None and not is_entry_point(name):
        raise UnknownName.among(kind, name, sorted(known))
