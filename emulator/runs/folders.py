"""Folders of runs, such as the folder of a sweep: one directory for each run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE, Manifest, RunKind, RunProgress
from emulator.runs.run_directory import read_manifest, was_cut_short

SWEEP_FILE: Final = "sweep.json"
"""The file in the folder of a live sweep that lists its runs in order."""

VOID_ASIDE: Final = "void"
"""What follows the name of a void run, with a dash, when it was moved aside for another one in its place."""

_MOVED_ASIDE: Final = re.compile(rf"(.+)-{VOID_ASIDE}(-[0-9]+)?")

_REPETITION: Final = re.compile(r"(?<=.)-(?:[2-9]|[1-9][0-9]+)$")
"""The end of the name of a run that repeats another one, which was void."""


@dataclass(frozen=True, slots=True)
class LiveRuns:
    """The live campaigns in a folder that can be compared with simulations, and why each other run cannot."""

    runs: tuple[Path, ...]
    left_out: tuple[str, ...]


def is_folder_of_runs(path: Path) -> bool:
    """Return whether `path` holds directories of runs, and is no run's directory itself."""
    return not (path / MANIFEST_FILE).exists() and any(path.glob(f"*/{MANIFEST_FILE}"))


def runs_in(path: Path) -> list[Path]:
    """Return the directories of the runs in the folder `path`; only `path` if it is no folder of runs.

    Runs of a live sweep are in its order, so that its first policy comes first; all others are in order of their names.
    """
    if not is_folder_of_runs(path):
        return [path]
    listed = _listed_in_sweep(path)
    found = (file.parent for file in path.glob(f"*/{MANIFEST_FILE}"))
    return sorted(found, key=lambda run: (_place(run.name, listed), run.name))


def whole_runs_in(path: Path) -> tuple[list[Path], list[str]]:
    """Return the runs in the folder `path` that count, and the names of all others; `path` itself if it is a run.

    Those were cut short, or were void and have run once more, which stands beside the name.

    Raises:
        InvalidInput: if a run's manifest holds what it should not.
    """
    if not is_folder_of_runs(path):
        return [path], []
    reasons = {run: _why_not_counted(run, read_manifest(run)) for run in runs_in(path)}
    left_out = [f"{run.name} ({reason})" for run, reason in reasons.items() if reason]
    return [run for run, reason in reasons.items() if not reason], left_out


def live_runs_in(folder: Path) -> LiveRuns:
    """Return the live campaigns in `folder` that are whole and not void.

    Raises:
        InvalidInput: if there is none, or a run's manifest holds what it should not.
    """
    reasons = {run: _why_left_out(run) for run in runs_in(folder)}
    left_out = tuple(f"{run.name} ({reason})" for run, reason in reasons.items() if reason)
    runs = tuple(run for run, reason in reasons.items() if not reason)
    if not runs:
        raise InvalidInput(f"{folder}: has no live campaign that is whole and not void: {', '.join(left_out)}.")
    return LiveRuns(runs, left_out)


@contextmanager
def all_or_none(paths: Iterable[Path]) -> Iterator[None]:
    """Remove the directories that the block made at `paths` if it fails or is interrupted."""
    try:
        yield
    except BaseException:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
        raise


def _listed_in_sweep(folder: Path) -> list[str]:
    """Return the names of the runs of the live sweep in `folder`, in its order; none if there is no such sweep."""
    try:
        return [str(run["folder"]) for run in json.loads((folder / SWEEP_FILE).read_bytes())["runs"]]
    except (OSError, ValueError, KeyError, TypeError):
        # Another program may call its own file so; what a sweep itself cannot read, its own verbs refuse.
        return []


def _place(name: str, listed: Sequence[str]) -> int:
    """Return the place of a run among those `listed`: its own, or that of the run that it repeats; else after all."""
    own = [folder for folder in listed if name == folder or name.startswith(f"{folder}-")]
    return listed.index(max(own, key=len)) if own else len(listed)


def _why_not_counted(run: Path, manifest: Manifest) -> str:
    """Return why a run does not count beside the others of its folder; empty if it does."""
    if manifest.progress is not RunProgress.COMPLETE:
        return "cut short"
    moved = _MOVED_ASIDE.fullmatch(run.name)
    if moved is None or manifest.verdict != Judgement.VOID:
        return ""
    # A repetition is moved aside with its first attempt, and the new run may need no repetition.
    places = {moved[1], _REPETITION.sub("", moved[1])}
    is_run_again = any((run.with_name(place) / MANIFEST_FILE).is_file() for place in places)
    return "void, and run once more" if is_run_again else ""


def _why_left_out(run: Path) -> str:
    """Return why a run is no live campaign whose figures count; empty if it is one."""
    manifest = read_manifest(run)
    if manifest.kind is not RunKind.CAMPAIGN:
        return f"a {manifest.kind.value}"
    if was_cut_short(run, manifest):
        return "cut short"
    return "void" if manifest.verdict == Judgement.VOID else ""
