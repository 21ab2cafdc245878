"""Live sweeps: one campaign under several policies, queues and seeds, run one after another, in one folder.

``sweep.json`` in the folder lists the runs; each of them has a folder of its own next to it. A sweep may be resumed,
and grow by further runs. A run is done when its record is complete, also if its verdict is void, unless void ones are
to run again. A run that is not done starts again from its first job, because what a job meets depends on all jobs
before it.

All runs of a sweep have the same system, and the same dilation: the one that is stated, or that pilots find for the
first run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from emulator.campaigns.live import planned, repetition_paths, run_campaign
from emulator.campaigns.live_sweep_process import is_running, own_process
from emulator.campaigns.run_again import check_nothing_runs, moved_aside
from emulator.fidelity.judgement import Judgement
from emulator.model.documents import DocumentModel, Real, WholeNumber
from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault
from emulator.model.records import MANIFEST_FILE, JobRow, RunProgress
from emulator.model.whole_files import write_whole
from emulator.policies.names import plain_name, policy_name, queue_name
from emulator.policies.nodes.compositions import is_composition
from emulator.runs.folders import SWEEP_FILE
from emulator.runs.holding import Testbed
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.run_directory import read_manifest, read_rows
from emulator.runs.same_campaign import without_hosts
from workloads.campaign import Campaign
from workloads.custom_sources import carrying_sources

MOST_RUNS: Final = 1000


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

    def is_done(self, *, void_again: bool) -> bool:
        """Return whether it need not run any more; a void one need not, unless such ones are to run again."""
        return self.state is RunState.COMPLETE and not (void_again and self.verdict == Judgement.VOID)


def sweep_of(
    campaign: Campaign,
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    queues: Sequence[str] = (),
    repeats: int = 1,
    dilation: float | None = None,
    repeat_void: int = 0,
    even_if_hopeless: bool = False,
    of_seed: Callable[[int], Campaign] | None = None,
) -> LiveSweep:
    """Return the sweep of `campaign` over all `policies`, all `queues` and with each of the `seeds`.

    Without queues it is over the campaign's own, without policies over its own or those that go with the queues. Each
    run is made `repeats` times with its seed, which shows the spread of live runs. If each seed has a job list of its
    own, `of_seed` reads the campaign with that list.

    Raises:
        InvalidInput: if a policy or a job list cannot be read, or there are no seeds, or the same one twice.
    """
    policies, queues = [policy_name(policy) for policy in policies], [queue_name(queue) for queue in queues]
    for option, values in (("--policy", policies), ("--queue", queues), ("--seeds", seeds)):
        if len(set(values)) != len(values):
            raise InvalidInput(f"{option}: {', '.join(map(str, values))} names one twice.")
    if not seeds:
        raise InvalidInput("--seeds: at least one is needed.")
    read = of_seed if campaign.has_list_per_seed else None
    if campaign.has_list_per_seed and read is None:
        raise InvalidInput(f"campaign {campaign.name!r}: job_list: each seed has its own, and none has been read.")
    shared = _variants(campaign, policies, queues)
    runs = tuple(
        LiveSweepRun(folder=f"{name}-{seed}{_repeat(number)}", campaign=variant, seed=seed)
        for seed in seeds
        for name, variant in (shared if read is None else _variants(read(seed), policies, queues))
        for number in range(1, repeats + 1)
    )
    if len({run.folder for run in runs}) != len(runs):
        raise InvalidInput("--policy, --queue: two of them have the same file and class; rename one.")
    if len(runs) > MOST_RUNS:
        raise InvalidInput(f"A sweep has at most {MOST_RUNS} runs, not {len(runs)}.")
    return LiveSweep(runs=runs, dilation=dilation, repeat_void=repeat_void, even_if_hopeless=even_if_hopeless)


def _variants(campaign: Campaign, policies: Sequence[str], queues: Sequence[str]) -> list[tuple[str, Campaign]]:
    """Return `campaign` under each of `queues` and `policies`, with the name of its runs' folders without the seed.

    Folders are named after the policy, and after each queue but the first, so that a sweep of one queue can grow.
    """
    found: list[tuple[str, Campaign]] = []
    for place, queue in enumerate(_or_own(queues)):
        for policy in _or_own(policies):
            variant = carrying_sources(campaign.scheduled(queue, policy))
            name = _slug(plain_name(policy) if policy is not None and is_composition(policy) else variant.policy)
            found.append((f"{name}-{_slug(variant.queue)}" if place else name, variant))
    return found


def _or_own(names: Sequence[str]) -> Sequence[str | None]:
    """Return `names`, or if there are none None, which stands for what the campaign has."""
    return names or (None,)


def check_sweep(testbed: Testbed, path: Path, sweep: LiveSweep, *, void_again: bool = False) -> None:
    """Check that each run of `sweep` is possible on `testbed`, and that what is done in `path` ran on such a one.

    Raises:
        InvalidInput: if one is not, or did not.
    """
    for run in sweep.runs:
        planned(testbed, run.campaign, run.seed)
    found = statuses(path, sweep)
    done = [each for each in found if each.is_done(void_again=void_again)]
    if len(done) == len(found):
        return  # nothing is left to run
    for each in done:
        topology = read_manifest(each.path).topology
        if without_hosts(topology) != without_hosts(testbed.topology):
            raise InvalidInput(
                f"{each.path}: ran on topology {topology.name!r} as it then was, which is not what runs "
                f"({testbed.topology.name!r}): bring that one up for the rest of the sweep, or begin it anew with "
                "another --out."
            )


def begin_sweep(path: Path, sweep: LiveSweep) -> LiveSweep:
    """Make the folder of `sweep`, or find it there already, and return the sweep as the folder has it.

    A sweep that is there already goes on as `joined_sweep` says.

    Raises:
        InvalidInput: if the folder holds something else, or cannot be made.
        TestbedBusy: if another process runs the sweep that is there.
    """
    if is_sweep(path):
        with own_process(path):
            joined = joined_sweep(path, sweep)
            _write(path, joined)
        return joined
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InvalidInput(f"{path}: is no sweep, and not empty (choose another with --out).")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be made ({error.strerror or error}).") from error
    _write(path, sweep)
    return sweep


def joined_sweep(path: Path, sweep: LiveSweep) -> LiveSweep:
    """Return `sweep` as it goes on in `path`: if runs of it are there, with their dilation.

    It may have further runs. What either states of hopeless runs and of void ones holds for all of them. Of a
    campaign it has only what the version of the testbed that began it noted.

    Raises:
        InvalidInput: if the folder holds a sweep with other runs, or of another dilation.
    """
    if not is_sweep(path):
        return sweep
    found = read_sweep(path)
    sweep = _as_noted_in(found, sweep)
    difference = _difference(found, sweep)
    if difference:
        names = sorted({run.campaign.name for run in found.runs})
        raise InvalidInput(
            f"{path}: holds another sweep of {', '.join(names)}: {difference}; `testbed campaign resume {path}` goes "
            "on with that one, another --out begins this one."
        )
    changes = {
        "dilation": found.dilation,
        "even_if_hopeless": found.even_if_hopeless or sweep.even_if_hopeless,
        "repeat_void": sweep.repeat_void or found.repeat_void,
    }
    return sweep.model_copy(update=changes)


def _as_noted_in(found: LiveSweep, sweep: LiveSweep) -> LiveSweep:
    """Return `sweep` with that only of its campaigns which the version of the testbed that wrote `found` noted, too.

    So its further runs are of the same campaign as those of before.
    """
    older = found.runs[0].campaign
    runs = tuple(run.model_copy(update={"campaign": _as_noted(older, run.campaign)}) for run in sweep.runs)
    return sweep.model_copy(update={"runs": runs})


def _as_noted(older: Campaign, campaign: Campaign) -> Campaign:
    changes: dict[str, object] = {}
    if campaign.background is not None and older.background is not None and older.background.log_digest is None:
        changes["background"] = campaign.background.model_copy(update={"log_digest": None})
    if campaign.job_list is not None and older.job_list is not None and older.job_list.interarrival_factor is None:
        # The listed jobs, which are compared, have the arrivals that the factor gave them.
        changes["job_list"] = campaign.job_list.model_copy(update={"interarrival_factor": None})
    return campaign.model_copy(update=changes)


def _difference(found: LiveSweep, sweep: LiveSweep) -> str:
    """Say why the sweep that was `found` cannot go on as `sweep`; nothing if it can."""
    stated = {run.folder: run for run in sweep.runs}
    other = next((run.folder for run in found.runs if stated.get(run.folder) != run), None)
    if other is not None:
        return f"its run {other} is " + ("stated otherwise here" if other in stated else "not among those of this one")
    return "" if sweep.dilation in (None, found.dilation) else "its dilation is another one"


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


def run_sweep(
    testbed: Testbed, path: Path, sweep: LiveSweep, report_progress: ReportProgress, *, void_again: bool = False
) -> list[RunStatus]:
    """Run what is left of `sweep` on `testbed`, with `void_again` also what is void, and return all its runs.

    All runs are checked before the first begins.

    Raises:
        InvalidInput: if one of them cannot run on this testbed, or some ran on another system.
        TestbedBusy: if another process or run works on it.
        RunFailed: if a run ended early; the rest of the sweep has not been run.
    """
    check_sweep(testbed, path, sweep, void_again=void_again)
    with own_process(path):
        found = [_status(path / run.folder, run, sweep.repeat_void, busy=False) for run in sweep.runs]
        for each in found:
            if each.state is RunState.COMPLETE:
                sweep = _of_dilation(path, sweep, each.path)
        for number, each in enumerate(found, start=1):
            if not each.is_done(void_again=void_again):
                remark = f"Run {number} of {len(found)}: {_described(each.run)}"
                report_progress(ProgressReport("starting the next run", remark=remark))
                sweep = _run_next(testbed, path, sweep, each.run, report_progress)
    return statuses(path, sweep)


def _run_next(
    testbed: Testbed, path: Path, sweep: LiveSweep, run: LiveSweepRun, report_progress: ReportProgress
) -> LiveSweep:
    """Run one run of the sweep; return the sweep with its dilation, which the first run finds."""
    check_nothing_runs(testbed)
    folder = path / run.folder
    campaign = run.campaign if sweep.dilation is None else run.campaign.changed(dilation=sweep.dilation)
    with moved_aside({each: read_manifest(each) for each in _folders(folder, sweep.repeat_void)}):
        counted = run_campaign(
            testbed, campaign, seed=run.seed, path=folder, report_progress=report_progress,
            tried=sweep.dilation is None, even_if_hopeless=sweep.even_if_hopeless, repeat_void=sweep.repeat_void,
        )  # fmt: skip
    return _of_dilation(path, sweep, counted)


def _described(run: LiveSweepRun) -> str:
    campaign = run.campaign
    return f"{campaign.name}, {campaign.policy} / {campaign.queue}, seed {run.seed}"


def _of_dilation(path: Path, sweep: LiveSweep, complete: Path) -> LiveSweep:
    """Return `sweep` with the dilation of its run that is `complete`, unless it has one; keep it in its folder."""
    if sweep.dilation is None:
        sweep = sweep.model_copy(update={"dilation": read_manifest(complete).dilation})
        _write(path, sweep)
    return sweep


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


def _slug(name: str) -> str:
    """Return the name of a policy or a queue as part of a folder's name."""
    return name.replace(".py:", "-").lower()


def _repeat(number: int) -> str:
    """Return the end of the name of a run's folder that tells its repeats apart."""
    return "" if number == 1 else f"-repeat-{number}"


def _write(path: Path, sweep: LiveSweep) -> None:
    write_whole(path / SWEEP_FILE, sweep.model_dump_json(indent=2, exclude_unset=True) + "\n")
