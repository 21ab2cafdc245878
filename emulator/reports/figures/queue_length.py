"""The number of jobs that wait for their placement, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, LINES, MOST_RUNS, few_ticks, one_legend, only_first_drawn, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.runs.steps import Steps, highest, mean_between
from emulator.runs.timelines import WAITING, waiting_jobs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STEPS: Final = 600


def queue_length(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the queue of `run`; None without jobs."""
    return queue_lengths([run]) if run.jobs else None


def queue_lengths(runs: Sequence[ReportedRun]) -> ReportFigure:
    """Return the figure of the queues of several runs."""
    queues = {run.label: waiting_jobs(run) for run in runs}
    rows: list[DataRow] = [
        {"run": run, "time_s": time_s, "waiting_jobs": int(value)}
        for run, queue in queues.items()
        for time_s, value in zip(queue.times_s, queue.values[WAITING], strict=True)
    ]
    shown = runs[:MOST_RUNS]
    shows = "Jobs between submission and placement. " + " ".join(_in_words(run, queues[run.label]) for run in shown)
    shows += only_first_drawn(len(runs))
    never = sum(job.placed_s is None and job.given_up_s is None for run in runs for job in run.jobs)
    if never:
        shows += f" Jobs that were never placed ({never}) count until the end, because no record says when they left."
    if any(len(queue.times_s) > MOST_STEPS for queue in queues.values()):
        shows += " Drawn as the largest number in short periods."
    return ReportFigure("queue-length", "Queue length", shows, rows, lambda: _draw(shown, queues))


def _in_words(run: ReportedRun, queue: Steps) -> str:
    values = queue.values[WAITING]
    mean = mean_between(queue.times_s, values, run.first_arrival_s, run.end_s)
    return f"{run.label}: {mean:.2f} in the mean, at most {int(max(values, default=0))}."


def _draw(runs: Sequence[ReportedRun], queues: dict[str, Steps]) -> Figure:
    figure, (axis,) = panels(2.2)
    for place, run in enumerate(runs):
        shown = highest(queues[run.label], run.end_s, MOST_STEPS)
        values = shown.values[WAITING]
        axis.step(
            [*shown.times_s, run.end_s], [*values, values[-1]] if values else [0], where="post", label=run.label,
            color=COLOURS[place % len(COLOURS)], linestyle=LINES[place % len(LINES)], linewidth=1.1,
        )  # fmt: skip
    axis.set_ylim(bottom=0)
    axis.set_xlim(left=min(run.shown_from_s for run in runs))
    few_ticks(axis.yaxis, 6, whole=True)
    axis.set_ylabel("waiting jobs")
    axis.set_xlabel("emulated time (s)")
    if len(runs) > 1:
        one_legend(figure, [axis], columns=3)
    return figure
