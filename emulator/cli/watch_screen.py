"""A watched testbed as one screen of a terminal: clusters, verdict lights, queue, jobs.

Uses of processors and verdicts differ by their signs, not only by their colours. Text of others is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from emulator.cli.durations import MISSING, clock, duration
from emulator.cli.watch_lines import asked, placed, run_name
from emulator.model.counts import number_of
from emulator.model.escapes import escaped
from emulator.model.job import JobState, Timeline
from emulator.model.views import JobView
from emulator.watch.moment import ClusterUse, Light, Moment

LEAST_BAR: Final = 10
"""The fewest characters that a cluster's bar has, however narrow the terminal."""

_LEAST_CLUSTERS: Final = 3
_LEAST_JOBS: Final = 1  # of those that wait, and of those that run or ended, however low the terminal
_BAR_OF_PROGRESS: Final = 30
_NAME_WIDTH: Final = 16
_STYLES: Final = {"valid": "green", "suspect": "yellow", "void": "red", "": "dim"}


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of the uses of processors, in the order of a bar, of verdicts, and of a bar's done and missing part."""

    uses: str
    verdicts: tuple[str, str, str, str]
    progress: str

    def of(self, verdict: str) -> str:
        """Return the sign of a verdict."""
        return dict(zip(_STYLES, self.verdicts, strict=True))[verdict]


UNICODE: Final = Signs("█▒▓░·", ("✓", "?", "✗", "–"), "█░")
ASCII: Final = Signs("#=%+.", ("+", "?", "x", "-"), "#.")
"""The signs for a terminal that shows nothing else."""


@dataclass(frozen=True, slots=True)
class Use:
    """A use of processors: its title, the attribute of `ClusterUse` with their number, and its style."""

    title: str
    key: str
    style: str


_USES: Final = (
    Use("co-allocated", "executing", "blue"),
    Use("claimed", "claimed", "yellow"),
    Use("local", "local", "magenta"),
    Use("dummy", "dummy", "cyan"),
    Use("idle", "idle", "dim"),
)


def screen(moment: Moment, loss: tuple[float, str] | None, width: int, height: int, signs: Signs = UNICODE) -> Group:
    """Return what to show of `moment` in `width` by `height` characters; `loss` says since when nobody answers."""
    parts: list[RenderableType] = [*_top(moment, loss, width, signs), Text()]
    rows_of_clusters = max(_LEAST_CLUSTERS, height // 3)
    parts += [_clusters(moment, width, rows_of_clusters, signs), Text()]
    lights = _lights(moment, signs, most_reasons=max(1, height // 15))
    parts += [*lights, Text()]
    shown_clusters = min(len(moment.clusters), rows_of_clusters) + (len(moment.clusters) > rows_of_clusters)
    used = (5 if loss else 4) + 1 + shown_clusters + 1 + len(lights) + 1
    queue_rows, job_rows = _shared_rows(moment, height - used)
    parts += [*_queue(moment, queue_rows), Text(), *_jobs(moment, job_rows, signs)]
    return Group(*parts)


def _top(moment: Moment, loss: tuple[float, str] | None, width: int, signs: Signs) -> list[Text]:
    request = moment.run.request
    system = moment.system
    name = " / ".join(escaped(part) for part in (system.testbed, system.topology) if part)
    title = Text.assemble((name, "bold"), f"  {escaped(run_name(moment.run))}", no_wrap=True, overflow="ellipsis")
    title.append(escaped(f"  policy {request.policy}, queue {request.queue}"), "dim")
    facts = f"emulated time {clock(moment.now_s)}   K {request.dilation:g}   "
    facts += f"processors {moment.used_processors} of {sum(use.processors for use in moment.clusters)} in use"
    state = Text("ended" if moment.has_ended else "live", "bold green" if not moment.has_ended else "bold")
    top = [title, Text.assemble(_cut(facts, width - 10), "   ", state), _progress(moment, width, signs)]
    if loss is not None:
        host_s, reason = loss
        state = Text(f"no answer since {host_s:.0f} s; trying again", "bold red")
        top[1] = Text.assemble(_cut(facts, width - state.cell_len - 3), "   ", state)
        top.append(Text(escaped(reason), "red", no_wrap=True, overflow="ellipsis"))
    return top


def _progress(moment: Moment, width: int, signs: Signs) -> Text:
    ended, expected = moment.all_ended, moment.expected_jobs
    line = Text(no_wrap=True, overflow="ellipsis")
    if expected:
        length = min(_BAR_OF_PROGRESS, max(LEAST_BAR, width - 60))
        done = min(length, length * ended // expected)
        line.append(signs.progress[0] * done, "blue").append(signs.progress[1] * (length - done), "dim").append("  ")
    line.append(f"{ended} of {number_of(expected, 'job')} ended" if expected else f"{number_of(ended, 'job')} ended")
    failed = ended - moment.ended.get(JobState.FINISHED, 0)
    if failed:
        line.append(f", {failed} of them failed or cancelled", "red")
    if moment.left_s is not None:
        line.append(f"   about {duration(moment.left_s)} left, emulated")
    return line


def _clusters(moment: Moment, width: int, most: int, signs: Signs) -> Group:
    shown = moment.clusters[:most]
    uses = [(use, sign) for use, sign in zip(_USES, signs.uses, strict=True) if _is_shown(use, moment)]
    titles = [
        Text.assemble((sign, use.style), f" {_title(use, moment)}", no_wrap=True, overflow="ellipsis")
        for use, sign in uses
    ]
    numbers = sum(max(title.cell_len, 4) + 2 for title in titles) + 5
    largest = max(use.processors for use in moment.clusters)
    length = min(largest, max(LEAST_BAR, width - _NAME_WIDTH - 4 - numbers))
    table = _table()
    table.add_column(Text("cluster"), max_width=_NAME_WIDTH)
    table.add_column(Text(""), width=length)
    for title in (*titles, Text("all")):
        table.add_column(title, justify="right")
    for cluster in shown:
        counts = [Text(str(getattr(cluster, use.key))) for use, _ in uses]
        table.add_row(_cell(cluster.name), _bar(cluster, uses, length, largest), *counts, Text(str(cluster.processors)))
    more = len(moment.clusters) - len(shown)
    return Group(table, Text(f"and {number_of(more, 'cluster')} more", "dim")) if more else Group(table)


def _is_shown(use: Use, moment: Moment) -> bool:
    return use.key != "dummy" or moment.splits_background


def _title(use: Use, moment: Moment) -> str:
    return "others" if use.key == "local" and not moment.splits_background else use.title


def _bar(cluster: ClusterUse, uses: Sequence[tuple[Use, str]], length: int, largest: int) -> Text:
    """Return a cluster's processors by use, as long as the cluster is large."""
    if not cluster.answers:
        return Text("does not answer", "bold red", no_wrap=True, overflow="ellipsis")
    cells = max(1, round(length * cluster.processors / largest))
    bar, processors, drawn = Text(), 0, 0
    for use, sign in uses:
        processors += getattr(cluster, use.key)
        end = min(cells, round(cells * processors / cluster.processors))
        bar.append(sign * (end - drawn), use.style)
        drawn = max(drawn, end)
    return bar


def _lights(moment: Moment, signs: Signs, most_reasons: int) -> list[Text]:
    line = Text("fidelity  ", no_wrap=True, overflow="ellipsis")
    for light in moment.lights:
        line.append(f"{signs.of(light.verdict)} {light.topic.value}{_about(light)}", _STYLES[light.verdict])
        line.append("   ")
    reasons = [(light, said, jobs) for light in moment.lights for said, jobs in light.reasons]
    shown = [
        Text(escaped(f"  {light.topic.value}: {said}{_of_jobs(jobs)}"), no_wrap=True, overflow="ellipsis")
        for light, said, jobs in sorted(reasons, key=lambda reason: -reason[2])[:most_reasons]
    ]
    more = len(reasons) - len(shown)
    if more > 0:
        shown[-1].append(f"   (and {number_of(more, 'more reason', 'more reasons')})", "dim")
    if not any(light.verdict for light in moment.lights):
        shown = [Text("  Jobs are judged where a campaign or a measurement records them.", "dim")]
    return [line, *shown]


def _about(light: Light) -> str:
    return f" ({number_of(light.jobs, 'job')})" if light.jobs else ""


def _of_jobs(jobs: int) -> str:
    return f" ({jobs} jobs)" if jobs > 1 else ""


def _shared_rows(moment: Moment, rows: int) -> tuple[int, int]:
    """Return how many rows the queue and the jobs get of those that are left, without their headings."""
    waiting, jobs = len(moment.waiting), len(moment.active) + len(moment.last_ended)
    left = rows - (4 if waiting else 1) - (2 if jobs else 1) - 1
    for_queue = min(waiting, max(_LEAST_JOBS, left - jobs, left // 3))
    return for_queue, min(jobs, max(_LEAST_JOBS, left - for_queue))


def _queue(moment: Moment, rows: int) -> list[RenderableType]:
    if not moment.waiting:
        return [Text("No job waits.", "bold")]
    order = "tries" if moment.is_ordered else "arrival"
    wait = "waits" if moment.waiting_in_all == 1 else "wait"
    heading = Text(f"{number_of(moment.waiting_in_all, 'job')} {wait}, in the order of {order}", "bold")
    why = f"first: {moment.waiting[0].job.id}. {moment.why_first_waits}"
    table = _job_table("job", "name", "application", "asks for", "waited", "tries")
    for entry in moment.waiting[:rows]:
        job = entry.job
        waited = duration(max(0.0, moment.now_s - job.submitted_s))
        stated = job.specification
        table.add_row(*_cells(job.id, stated.name, stated.application, asked(job), waited, entry.tries))
    parts: list[RenderableType] = [heading, Text(escaped(why), no_wrap=True, overflow="ellipsis"), table]
    more = moment.waiting_in_all - min(rows, len(moment.waiting))
    return [*parts, Text(f"and {more} more", "dim")] if more > 0 else parts


def _jobs(moment: Moment, rows: int, signs: Signs) -> list[RenderableType]:
    jobs = (*moment.active, *moment.last_ended)
    if not jobs:
        return [Text("No job has been placed.", "bold")]
    run = "runs" if moment.running == 1 else "run"
    is_placed = len(moment.active) - moment.running
    are = "is" if is_placed == 1 else "are"
    heading = Text(f"{number_of(moment.running, 'job')} {run}, {is_placed} {are} placed", "bold")
    table = _job_table("job", "name", "state", "clusters", "waited", "ran", "verdict")
    for job in jobs[:rows]:
        verdict = moment.verdicts.get(job.id, "")
        row = _cells(job.id, job.specification.name, job.state.value, placed(job), *_times(job, moment.now_s))
        judged = Text(f"{signs.of(verdict)} {verdict}" if verdict else "", _STYLES[verdict])
        table.add_row(*row, judged, style="dim" if job.state.final else "")
    return [heading, table]


def _times(job: JobView, now_s: float) -> tuple[str, str]:
    """Return how long a job has waited and executed, or did."""
    times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
    if job.state.final:
        return duration(times.wait_time_s), duration(times.execution_time_s)
    if job.started_s is None:
        return duration(max(0.0, now_s - job.submitted_s)), MISSING
    return duration(times.wait_time_s), duration(max(0.0, now_s - job.started_s))


def _job_table(*titles: str) -> Table:
    table = _table()
    for title in titles:
        is_number = title in ("job", "waited", "ran", "tries")
        most = {"name": 24, "application": 12, "clusters": 40, "asks for": 30}.get(title)
        table.add_column(Text(title), justify="right" if is_number else "left", max_width=most)
    return table


def _table() -> Table:
    """Return a table without lines, whose rows take one line each."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _cells(*values: object) -> Iterable[Text]:
    return [_cell(str(value)) for value in values]


def _cell(text: str) -> Text:
    return Text(escaped(text), no_wrap=True, overflow="ellipsis")


def _cut(text: str, width: int) -> str:
    return text[: max(0, width)]
