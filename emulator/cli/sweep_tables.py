"""A sweep of simulations, printed: its cells, where execution times come from, and what speaks against the figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from emulator.campaigns.simulation_sweep import SimulationSweepCell
from emulator.cli.foreign_text import say
from emulator.cli.simulation_tables import times_sentence
from emulator.cli.tables import show_rows
from emulator.fidelity.judgement import Judgement
from emulator.model.counts import number_of
from emulator.model.times import TimeSource
from emulator.reports.simulation_sweep_files import SIMULATIONS_FILE, cell_rows, cells_without_ratio
from emulator.reports.text import with_interval
from emulator.runs.seeds import same_jobs_in_words

ALIKE: Final = (
    "All {seeds} seeds gave the same in {alike} of {cells}, because nothing is drawn there: such a cell counts "
    "as one simulation (n = 1) and has no interval."
)
NO_RATIO: Final = (
    "No ratio to the first policy and queue in {number} of {cells}: in one of the two a simulation is void or jobs did "
    "not finish, so that the means are not of the same jobs (of runs of `testbed simulate --out` that are not void, "
    "`testbed report` compares the jobs that finished under every policy)."
)
SHOWN: Final = {"response_s": "response (s)", "wait_s": "wait (s)", "gross_utilization": "gross utilization"}
MOST_REASONS: Final = 10


def show_cells(cells: Sequence[SimulationSweepCell], workload: str, *, as_json: bool) -> None:
    """Print a row for each cell of the sweep of `workload`, and on stderr what must be known of them."""
    rows = cell_rows(cells)
    if as_json:
        print(json.dumps(rows, indent=2, allow_nan=False))
    else:
        first = rows[0] if any(row["response_over_first"] is not None for row in rows) else None
        show_rows([_shown(row, first) for row in rows], as_json=False, title=f"Sweep of {workload}")
    _say_what_is_left_out(cells, workload)
    _say_where_times_come_from(cells)
    _say_what_seeds_draw(cells, workload)
    uncompared = cells_without_ratio(cells)
    if uncompared:
        say(NO_RATIO.format(number=uncompared, cells=number_of(len(cells), "cell")), to_error=True)
    _say_reasons(cells)


def _say_where_times_come_from(cells: Sequence[SimulationSweepCell]) -> None:
    """Print how many jobs got times from which source, where simulations find them by each job's problem."""
    outcomes = [outcome for cell in cells for outcome in cell.outcomes]
    if any(outcome[f"jobs_{TimeSource.MEASURED}"] is None for outcome in outcomes):
        return
    by_source = {source.value: sum(int(outcome[f"jobs_{source}"]) for outcome in outcomes) for source in TimeSource}
    in_table = [outcome["jobs_in_table"] for outcome in outcomes]
    found = times_sentence(by_source, None if None in in_table else sum(map(int, in_table)))
    say(f"Execution times in all simulations: {found}", to_error=True)


def _say_what_is_left_out(cells: Sequence[SimulationSweepCell], workload: str) -> None:
    """Print how many records of the log of the workload are not among its jobs, if any are not."""
    left_out = max(cell.left_out for cell in cells)
    if left_out:
        records = number_of(left_out, "record")
        say(f"{workload}: {records} of the log left out (`testbed simulate LOG` says why).", to_error=True)


def _say_what_seeds_draw(cells: Sequence[SimulationSweepCell], workload: str) -> None:
    """Print what seeds draw if all have the same jobs, and in how many cells they change nothing."""
    seeds = len(cells[0].outcomes)
    if seeds < 2:
        return
    drawn = tuple(dict.fromkeys(name for cell in cells for name in cell.drawn))
    # That nothing at all is drawn is said below.
    said = same_jobs_in_words(workload, drawn) if drawn else ""
    if said:
        say(said, to_error=True)
    alike = sum(cell.replications == 1 for cell in cells)
    if alike:
        say(ALIKE.format(seeds=seeds, alike=alike, cells=number_of(len(cells), "cell")), to_error=True)


def _say_reasons(cells: Sequence[SimulationSweepCell]) -> None:
    """Print why simulations are not valid, a line for each cell and verdict with the first of them as an example."""
    doubtful = [(cell, verdict) for cell in cells for verdict in cell.verdicts if verdict != Judgement.VALID]
    for cell, verdict in doubtful[:MOST_REASONS]:
        seeds = [seed for seed, outcome in enumerate(cell.outcomes) if outcome["verdict"] == verdict]
        at_load = "" if cell.load is None else f" at load {cell.load:g}"
        say(
            f"{cell.policy} / {cell.queue}{at_load}: {len(seeds)} of {number_of(len(cell.outcomes), 'simulation')} "
            f"{verdict}, such as that of seed {seeds[0]}: {cell.outcomes[seeds[0]]['verdict_reasons']}.",
            to_error=True,
        )
    if len(doubtful) > MOST_REASONS:
        more = number_of(len(doubtful) - MOST_REASONS, "more such line")
        say(f"{more}: see verdict_reasons in {SIMULATIONS_FILE}.", to_error=True)


def _shown(row: dict[str, Any], first: dict[str, Any] | None) -> dict[str, object]:
    """Return what the table shows of a cell; `first` is the cell that others are compared with, if there are any."""
    shown: dict[str, object] = {name: row[name] for name in ("policy", "queue", "load", "n")}
    shown |= {text: _with_interval(row, quantity) for quantity, text in SHOWN.items()}
    if first is not None:
        shown[f"response over {first['policy']} / {first['queue']}"] = _with_interval(row, "response_over_first")
    return shown | {"saturated": f"{row['saturated']:.0%}", "verdict": row["verdicts"]}


def _with_interval(row: dict[str, Any], quantity: str) -> str:
    value, low, high = (row[f"{quantity}{end}"] for end in ("", "_low", "_high"))
    return "" if value is None else with_interval(value, low, high)
