"""What the live page is told besides jobs and events: the system, the present status, and notes on a run.

Notes are facts that the broker cannot know, such as verdicts and the background load; the recorder of a run sends them.
`testbed page RUN` reads the same facts from a run's directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints

from emulator.model.documents import DocumentModel, Real
from emulator.model.topology import Topology
from emulator.model.views import ClusterView, Number, QueueEntryView, RunView


class PageCode(DocumentModel):
    """A code that opens one session of the page, within `host_valid_s` host seconds."""

    code: str
    host_valid_s: float


class PageEntry(DocumentModel):
    """The code with which a page asks for a session."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class PageSession(DocumentModel):
    """A session of the page: its secret is sent as a bearer token, and only lets read.

    `shows` is what there is to see: a running testbed, or a recorded run.
    """

    session: str
    shows: Literal["testbed", "run"]


class PageCluster(DocumentModel):
    """A cluster as the topology states it; a real one has no known rates."""

    name: str
    nodes: int
    processors: int
    is_real: bool = False
    up_mbit: float | None = None
    down_mbit: float | None = None


class PagePath(DocumentModel):
    """The wide area from one cluster to another: what is asked of it."""

    source: str
    target: str
    delay_s: float
    jitter_s: float
    loss: float
    rate_mbit: float


MOST_WITH_PATHS: Final = 32
"""The most clusters of a system whose paths the page is told: a thousand clusters of a simulation have a million."""


class PageSystem(DocumentModel):
    """The system that the page draws: a topology, and the testbed's name if one runs.

    The paths between more than `MOST_WITH_PATHS` clusters are left out.
    """

    topology: str
    testbed: str = ""
    clusters: tuple[PageCluster, ...]
    paths: tuple[PagePath, ...]

    @classmethod
    def of(cls, topology: Topology, testbed: str = "") -> PageSystem:
        """Return the system of `topology`."""
        clusters = tuple(
            PageCluster(
                name=cluster.name,
                nodes=cluster.nodes,
                processors=cluster.processors,
                is_real=cluster.is_real,
                up_mbit=None if cluster.is_real else cluster.access_link.up_mbit,
                down_mbit=None if cluster.is_real else cluster.access_link.down_mbit,
            )
            for cluster in topology.clusters
        )
        pairs = topology.ordered_pairs if len(clusters) <= MOST_WITH_PATHS else ()
        paths = tuple(_path(topology, source, target) for source, target in pairs)
        return cls(topology=topology.name, testbed=testbed, clusters=clusters, paths=paths)


def _path(topology: Topology, source: str, target: str) -> PagePath:
    path = topology.path(source, target)
    return PagePath(
        source=source,
        target=target,
        delay_s=path.delay_s,
        jitter_s=path.jitter_s,
        loss=path.loss,
        rate_mbit=topology.path_rate_mbit(source, target),
    )


class PageNow(DocumentModel):
    """The present status of the broker: the run to show, its queue, the clusters, and where to begin to follow.

    The run is the one that holds the testbed, else the default run. The first jobs of a long queue are listed,
    `queue_length` counts all. `last_job` and `last_event` are the highest numbers so far. `host_moment_s` is the
    broker's wall clock.
    """

    run: RunView
    queue: tuple[QueueEntryView, ...]
    queue_length: int
    clusters: tuple[ClusterView, ...]
    last_job: int
    last_event: int
    host_moment_s: float


MOST_NOTES: Final = 500
"""The most notes in a request or an answer."""

Sentence = Annotated[str, StringConstraints(max_length=2_000)]
ClusterName = Annotated[str, StringConstraints(max_length=100)]
Judged = Annotated[str, StringConstraints(pattern=r"^(valid|suspect|void)$")]


class PageReason(DocumentModel):
    """A reason of a verdict, and what it is about."""

    topic: Annotated[str, StringConstraints(max_length=40)]
    sentence: Sentence


class VerdictNote(DocumentModel):
    """The verdict on a job that ended."""

    job: Number
    verdict: Judged
    reasons: tuple[PageReason, ...] = ()


class BackgroundNote(DocumentModel):
    """The processors of a cluster that dummy and local jobs hold from `time_s` on."""

    time_s: Real
    cluster: ClusterName
    dummy: Number
    local: Number


class CheckNote(DocumentModel):
    """The judgement of a check of the wide area, before or after the run."""

    moment: Annotated[str, StringConstraints(max_length=40)]
    verdict: Judged
    reasons: tuple[PageReason, ...] = ()


class RunNote(DocumentModel):
    """One fact about a run; only what it is about is set.

    `jobs` is how many are expected, `band` that of the background load in shares of all processors, `link` a row of
    ``links.csv``.
    """

    jobs: Number | None = None
    band: tuple[Real, Real] | None = None
    verdict: VerdictNote | None = None
    background: BackgroundNote | None = None
    check: CheckNote | None = None
    link: Annotated[Mapping[str, Any], Field(max_length=20)] | None = None


class NotesRequest(DocumentModel):
    """Notes on a run in their order, of which the first has the number `first`, counted from 0."""

    first: Number = 0
    notes: Annotated[tuple[RunNote, ...], Field(max_length=MOST_NOTES)] = ()


class NotesHeld(DocumentModel):
    """How many notes on the run the broker holds, and whether anyone looks at its page."""

    held: int
    is_watched: bool


class NotesPage(DocumentModel):
    """Up to a page of notes on a run, and the number of the next one."""

    notes: tuple[RunNote, ...]
    next: int
