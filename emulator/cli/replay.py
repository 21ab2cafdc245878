"""The verb ``replay``: the decisions of a run, or of each run in a folder, made again without a testbed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.completion import runs
from emulator.cli.foreign_text import say
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.counts import number_of
from emulator.policies.replay import Replay
from emulator.runs.folders import is_folder_of_runs
from emulator.runs.replay import replay_run, replay_runs, together

EXIT_DIFFERS: Final = 1
FIRST_DIFFERENCES: Final = 10


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(replay)


def replay(
    directory: Annotated[
        Path,
        typer.Argument(
            help="A run's directory, or a folder of runs, such as that of a sweep.", metavar="DIR", autocompletion=runs
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Make every decision of a run, or of all runs in a folder, again from its record; exits 1 if one differs.

    Example: testbed replay runs/first-20260101-120000
    """
    if is_folder_of_runs(directory):
        found = _replay_folder(directory, as_json=as_json)
    else:
        found = replay_run(directory)
        _show(found, [asdict(difference) for difference in found.differences[:FIRST_DIFFERENCES]], as_json=as_json)
    if found.differences:
        raise typer.Exit(EXIT_DIFFERS)


def _replay_folder(folder: Path, *, as_json: bool) -> Replay:
    """Replay each run in `folder`, print what came of it, and return all of it as one replay."""
    replays = replay_runs(folder)
    decided = {run: found for run, found in replays.items() if found.decisions}
    differences: list[dict[str, object]] = [
        {"run": run, **asdict(difference)} for run, found in decided.items() for difference in found.differences
    ]
    found = together(decided.values())
    _show(found, differences[:FIRST_DIFFERENCES], as_json=as_json, by_run=decided)
    if without := [run for run in replays if run not in decided]:
        say(f"No decisions are recorded of: {', '.join(without)}.", to_error=True)
    return found


def _show(
    found: Replay, first: list[dict[str, object]], *, as_json: bool, by_run: Mapping[str, Replay] | None = None
) -> None:
    """Print how many decisions were made again, of each run if there are several, and the `first` differences."""
    rows: list[dict[str, object]] = [
        {"run": run, "decisions": each.decisions, "differences": len(each.differences)}
        for run, each in (by_run or {}).items()
    ]
    if as_json:
        counts: dict[str, object] = {"decisions": found.decisions, "differences": len(found.differences)}
        counts["first"] = first
        print(json.dumps(counts if by_run is None else counts | {"runs": rows}))
        return
    if rows:
        show_rows(rows, as_json=False)
    print(_sentence(found) if by_run is None else f"{number_of(len(rows), 'run')}: {_sentence(found)}")
    if first:
        show_rows(first, as_json=False, title="The first that differ")


def _sentence(found: Replay) -> str:
    return f"{number_of(found.decisions, 'decision')} replayed, {number_of(len(found.differences), 'difference')}"
