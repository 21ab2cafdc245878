"""Live sweeps: one campaign under several policies and seeds, run one after another, in one folder that can be resumed.

``sweep.json`` in the folder lists the runs; each of them has a folder of its own next to it. A run is done when its
record is complete, also if its verdict is void. An interrupted run starts again from its first job, because what a job
meets depends on all jobs before it; what the run had recorded is kept in ``RUN-interrupted``.

All runs of a sweep have the same dilation: the one that is stated, or that pilots find for the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from emulator.campaigns.live import planned, repetition_paths, run_campaign
from emulator.campaigns.live_sweep_process import is_running, own_process
from emulator.model.documents import DocumentModel, Real, WholeNumber
from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.faults import first_fault
from emulator.model.records import MANIFEST_FILE, JobRow, Manifest, RunKind, RunProgress
from emulator.model.whole_files import write_whole
from emulator.policies.names import policy_name
from emulator.policies.nodes.compositions import is_composition
from emulator.runs.folders import SWEEP_FILE
from emulator.runs.holding import Testbed
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.run_directory import check_unwritten, read_manifest, read_rows
from workloads.campaign import Campaign, recorded_campaign
from workloads.custom_sources import carrying_sources

MOST_RUNS: Final = 1000
_INTERRUPTED: Final = "interrupted"


class LiveSweepRun(DocumentModel):
    """One run of a sweep: the name of its folder, its campaign with all that was chosen for it, and its seed."""

    folder: str
    campaign: Campaign
    seed: Annotated[WholeNumber, Field(ge=0)]


class LiveSweep(DocumentModel):
    """The runs of a sweep in order, and their common dilation; None until pilots have found it."""

    runs: Annotated[tuple[LiveSweepRun, ...], Field(min_length=1, max_length=MOST_RUNS)]
    dilation: Real | None = None
    repeat_void: Annotated[WholeNumber, Field(ge=0)] = 0
    even_if_hopeless: bool = False

    def same_runs(self, other: LiveSweep) -> bool:
        """Return whether both consist of the same runs; the dilation that pilots found does not count."""
        return self.runs == other.runs


class RunState(StrEnum):
    """The state of a run of a sweep; an *interrupted* one has begun, but does not run now."""

    WAITING = "waiting"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run of a sweep as its records show it: the folder that counts, how many of its jobs have ended, the verdict."""

    run: LiveSweepRun
    path: Path
    state: RunState
    jobs: int
    ended: int = 0
    verdict: str = ""


def sweep_of(
    campaign: Campaign,
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    repeats: int = 1,
    dilation: float | None = None,
    repeat_void: int = 0,
    even_if_hopeless: bool = False,
    of_seed: Callable[[int], Campaign] | None = None,
) -> LiveSweep:
    """Return the sweep of `campaign` over all `policies` with each of the `seeds`; without policies over its own.

    Each run is made `repeats` times with its seed, which shows the spread of live runs. If each seed has a job list of
    its own, `of_seed` reads the campaign with that list.

    Raises:
        InvalidInput: if a policy or a job list cannot be read, or there are no seeds, or the same one twice.
    """
    policies = [policy_name(policy) for policy in policies] or [campaign.policy]
    for option, values in (("--policy", policies), ("--seeds", seeds)):
        if len(set(values)) != len(values):
            raise InvalidInput(f"{option}: {', '.join(map(str, values))} names one twice.")
    if not seeds:
        raise InvalidInput("--seeds: at least one is needed.")
    read = of_seed if campaign.has_list_per_seed else None
    if campaign.has_list_per_seed and read is None:
        raise InvalidInput(f"campaign {campaign.name!r}: job_list: each seed has its own, and none has been read.")
    shared = _variants(campaign, policies)
    runs = tuple(
        LiveSweepRun(
            folder=f"{_slug(policy if is_composition(policy) else variant.policy)}-{seed}{_repeat(number)}",
            campaign=variant, seed=seed,
        )
        for seed in seeds
        for policy, variant in (shared if read is None else _variants(read(seed), policies)).items()
        for number in range(1, repeats + 1)
    )  # fmt: skip
    if len({run.folder for run in runs}) != len(runs):
        raise InvalidInput("--policy: two of them have the same file and class; rename one.")
    if len(runs) > MOST_RUNS:
        raise InvalidInput(f"A sweep has at most {MOST_RUNS} runs, not {len(runs)}.")
    return LiveSweep(runs=runs, dilation=dilation, repeat_void=repeat_void, even_if_hopeless=even_if_hopeless)


def _variants(campaign: Campaign, policies: Sequence[str]) -> dict[str, Campaign]:
    """Return `campaign` under each of the `policies`, with the sources of a user's own."""
    return {policy: carrying_sources(campaign.scheduled(None, policy)) for policy in policies}


def check_sweep(testbed: Testbed, sweep: LiveSweep) -> None:
    """Check that each run of `sweep` is possible on `testbed`.

    Raises:
        InvalidInput: if one is not.
    """
    for run in sweep.runs:
        planned(testbed, run.campaign, run.seed)


def begin_sweep(path: Path, sweep: LiveSweep) -> LiveSweep:
    """Make the folder of `sweep`, or find it there already, and return the sweep as the folder has it.

    What `sweep` states of hopeless runs and of void ones holds from now on.

    Raises:
        InvalidInput: if the folder holds something else, or cannot be made.
    """
    if is_sweep(path):
        found = read_sweep(path)
        if not found.same_runs(sweep) or sweep.dilation not in (None, found.dilation):
            names = sorted({run.campaign.name for run in found.runs})
            raise InvalidInput(
                f"{path}: holds another sweep of {', '.join(names)}: `testbed campaign resume {path}` goes on with "
                "that one, another --out begins this one."
            )
        changes = {"even_if_hopeless": found.even_if_hopeless or sweep.even_if_hopeless,
                   "repeat_void": sweep.repeat_void or found.repeat_void}  # fmt: skip
        found = found.model_copy(update=changes)
        _write(path, found)
        return found
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InvalidInput(f"{path}: is no sweep, and not empty (choose another with --out).")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be made ({error.strerror or error}).") from error
    _write(path, sweep)
    return sweep


def is_sweep(path: Path) -> bool:
    """Return whether `path` is the folder of a sweep."""
    return (path / SWEEP_FILE).is_file()


def read_sweep(path: Path) -> LiveSweep:
    """Read the sweep in the folder `path`.

    Raises:
        InvalidInput: if there is none, or its file holds what it should not.
    """
    file = path / SWEEP_FILE
    try:
        return LiveSweep.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path}: is no sweep's folder (it has no {SWEEP_FILE}).") from error
    except ValidationError as error:
        raise InvalidInput(f"{file}: {first_fault(error)}") from error


def statuses(path: Path, sweep: LiveSweep) -> list[RunStatus]:
    """Return where each run of `sweep` is, by the records in `path`."""
    busy = is_running(path)
    return [_status(path / run.folder, run, sweep.repeat_void, busy) for run in sweep.runs]


def run_sweep(testbed: Testbed, path: Path, sweep: LiveSweep, report_progress: ReportProgress) -> list[RunStatus]:
    """Run what is left of `sweep` on `testbed`, and return all its runs.

    All runs are checked before the first begins.

    Raises:
        InvalidInput: if one of them cannot run on this testbed.
        TestbedBusy: if another process or run works on it.
        RunFailed: if a run ended early; the rest of the sweep has not been run.
    """
    check_sweep(testbed, sweep)
    with own_process(path):
        for number, run in enumerate(sweep.runs, start=1):
            found = _status(path / run.folder, run, sweep.repeat_void, busy=False)
            if found.state is RunState.COMPLETE:
                sweep = _of_dilation(path, sweep, found.path)
                continue
            remark = f"Run {number} of {len(sweep.runs)}: {run.campaign.name}, {run.campaign.policy}, seed {run.seed}"
            report_progress(ProgressReport("starting the next run", remark=remark))
            sweep = _run_next(testbed, path, sweep, run, report_progress)
    return statuses(path, sweep)


def rerun_campaign(
    testbed: Testbed,
    path: Path,
    report_progress: ReportProgress,
    *,
    repeat_void: int = 0,
    even_if_hopeless: bool = False,
) -> Path:
    """Run the campaign in `path`, which was interrupted, again from its first job, and return its directory.

    It has the seed and the dilation that it had. What was recorded of it is kept in ``PATH-interrupted``.

    Raises:
        InvalidInput: if `path` holds no campaign, one that is complete, or one of another topology.
        TestbedBusy: if a run holds the testbed, or another process still writes this one.
        RunFailed: if it ends early again.
    """
    manifest = read_manifest(path)
    campaign = _campaign_of(path, manifest)
    if manifest.topology != testbed.topology:
        raise InvalidInput(
            f"{path}: ran on topology {manifest.topology.name!r} as it then was, which is not what runs "
            f"({testbed.topology.name!r}): run the campaign anew."
        )
    planned(testbed, campaign, manifest.seed)
    _check_nothing_runs(testbed)
    # The directory itself, even if the path is "." or a link: it is renamed, and another takes its place.
    place = path.resolve()
    with _moved_aside([place]):
        return run_campaign(
            testbed, campaign, seed=manifest.seed, path=place, report_progress=report_progress,
            even_if_hopeless=even_if_hopeless, repeat_void=repeat_void,
        )  # fmt: skip


def _run_next(
    testbed: Testbed, path: Path, sweep: LiveSweep, run: LiveSweepRun, report_progress: ReportProgress
) -> LiveSweep:
    """Run one run of the sweep; return the sweep with its dilation, which the first run finds."""
    _check_nothing_runs(testbed)
    folder = path / run.folder
    campaign = run.campaign if sweep.dilation is None else run.campaign.changed(dilation=sweep.dilation)
    with _moved_aside(_folders(folder, sweep.repeat_void)):
        counted = run_campaign(
            testbed, campaign, seed=run.seed, path=folder, report_progress=report_progress,
            tried=sweep.dilation is None, even_if_hopeless=sweep.even_if_hopeless, repeat_void=sweep.repeat_void,
        )  # fmt: skip
    return _of_dilation(path, sweep, counted)


def _of_dilation(path: Path, sweep: LiveSweep, complete: Path) -> LiveSweep:
    """Return `sweep` with the dilation of its run that is `complete`, unless it has one; keep it in its folder."""
    if sweep.dilation is None:
        sweep = sweep.model_copy(update={"dilation": read_manifest(complete).dilation})
        _write(path, sweep)
    return sweep


def _check_nothing_runs(testbed: Testbed) -> None:
    run = testbed.client.current_run()
    if run is not None:
        raise TestbedBusy(
            f"Run {run.id} ({run.request.name}) holds the testbed (wait for its end, or `testbed campaign stop`)."
        )


def _campaign_of(path: Path, manifest: Manifest) -> Campaign:
    if manifest.kind is not RunKind.CAMPAIGN:
        raise InvalidInput(f"{path}: is a {manifest.kind.value}; only campaigns and sweeps are resumed here.")
    if manifest.progress is RunProgress.COMPLETE:
        raise InvalidInput(f"{path}: is complete, nothing is left to run (`testbed report {path}` shows it).")
    return recorded_campaign(manifest.workload, source=f"{path}: workload")


def _status(folder: Path, run: LiveSweepRun, repeat_void: int, busy: bool) -> RunStatus:
    """Return where a run is; `busy` tells whether a process runs the sweep."""
    begun = [(path, read_manifest(path)) for path in _folders(folder, repeat_void)]
    if not begun:
        return RunStatus(run, folder, RunState.WAITING, run.campaign.jobs)
    path, manifest = begun[-1]
    jobs, ended = manifest.jobs, len(read_rows(path, JobRow))
    if manifest.progress is RunProgress.COMPLETE:
        return RunStatus(run, path, RunState.COMPLETE, jobs, ended, manifest.verdict)
    running = busy and manifest.progress is RunProgress.RUNNING
    return RunStatus(run, path, RunState.RUNNING if running else RunState.INTERRUPTED, jobs, ended)


def _folders(folder: Path, repeat_void: int) -> list[Path]:
    """Return the folders with records of a run: its own, and those of its repetitions."""
    return [path for path in repetition_paths(folder, repeat_void) if (path / MANIFEST_FILE).is_file()]


@contextmanager
def _moved_aside(paths: Sequence[Path]) -> Iterator[None]:
    """Move the records of interrupted runs aside; move them back if nothing new has begun in their place.

    Raises:
        TestbedBusy: if another process still writes one of them; all stay where they are.
    """
    for path in paths:
        check_unwritten(path)
    moved: dict[Path, Path] = {}
    for path in paths:
        names = (f"{path.name}-{_INTERRUPTED}" + ("" if number < 2 else f"-{number}") for number in range(1, MOST_RUNS))
        moved[path] = path.rename(next(kept for name in names if not (kept := path.with_name(name)).exists()))
    try:
        yield
    finally:
        for path, kept in moved.items():
            if not path.exists():
                kept.rename(path)


def _slug(policy: str) -> str:
    """Return the name of a policy as part of a folder's name."""
    return policy.replace(".py:", "-").lower()


def _repeat(number: int) -> str:
    """Return the end of the name of a run's folder that tells its repeats apart."""
    return "" if number == 1 else f"-repeat-{number}"


def _write(path: Path, sweep: LiveSweep) -> None:
    write_whole(path / SWEEP_FILE, sweep.model_dump_json(indent=2, exclude_unset=True) + "\n")
