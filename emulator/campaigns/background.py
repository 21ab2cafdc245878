"""The background load of a live campaign, from the start of the run's clock to the end of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator.fidelity.background import SETTLING_S
from emulator.model.errors import InvalidInput, RunEndedEarly, TestbedBusy
from emulator.model.records import BackgroundRow
from emulator.policies.registry import chooses_nodes
from emulator.runs.background_actor import BackgroundActor
from emulator.runs.background_load import BackgroundLoad
from emulator.runs.following import ended_early
from emulator.runs.holding import Testbed
from emulator.runs.local_users import LocalUsers
from emulator.runs.recording import Recorder
from workloads.campaign import Campaign
from workloads.distributions import stream
from workloads.local_jobs import DUMMY_JOBS, local_jobs


class BackgroundAboveBand(RunEndedEarly):
    """A campaign that ended because its background load made it void, and that is to be repeated."""


def check_background_seen(campaign: Campaign) -> None:
    """Check that the policy of `campaign` sees what its background load holds.

    Raises:
        InvalidInput: if the policy chooses nodes: it only knows the tasks of the grid's jobs there.
    """
    if campaign.background is not None and chooses_nodes(campaign.policy, campaign.sources):
        raise InvalidInput(
            f"background: policy {campaign.policy!r} chooses nodes, and does not see those that a background load "
            "holds (leave it out, or choose a policy of clusters)."
        )


def check_no_unseen_load(testbed: Testbed, campaign: Campaign) -> None:
    """Check that no background load runs on `testbed` that the policy of `campaign` would not see.

    Raises:
        TestbedBusy: if one does.
    """
    from emulator.containers.local_users import holder  # loads the engine's client, which a base installation lacks

    if chooses_nodes(campaign.policy, campaign.sources) and holder(testbed.name) is not None:
        raise TestbedBusy(
            f"A background load runs on the testbed {testbed.name!r}, and policy {campaign.policy!r}, which chooses "
            "nodes, does not see those that it holds (`testbed background stop` ends it)."
        )


def check_local_users(testbed: Testbed) -> LocalUsers:
    """Return the local users of `testbed`, after checking that all its clusters have some.

    Raises:
        InvalidInput: if a cluster is real: the testbed has no accounts of other users there.
    """
    real = [cluster.name for cluster in testbed.topology.real_clusters]
    if real or testbed.local_users is None:
        named = ", ".join(real) or testbed.name
        raise InvalidInput(f"background: there are no accounts for local users' jobs on {named} (leave it out).")
    return testbed.local_users


@contextmanager
def background_held(
    testbed: Testbed, campaign: Campaign, seed: int, recorder: Recorder, attempt: int, ends_if_void: bool
) -> Iterator[Callable[[], None]]:
    """Hold the background load of `campaign`, if it has one, from the start of the run's clock on.

    Yield a check, to be made often. It raises what went wrong with the load and, if the run `ends_if_void`,
    `BackgroundAboveBand`.
    """
    background = campaign.scaled_background
    if background is None:
        yield lambda: None
        return
    users = check_local_users(testbed)

    def record(row: BackgroundRow) -> None:
        recorder.directory.append(row)
        recorder.note_background(row.cluster, row.dummy_processors + row.local_processors, row.time_s)

    load = BackgroundLoad(
        background,
        testbed.topology,
        local_jobs(background, testbed.topology, seed, attempt=attempt, time_scale=campaign.time_scale),
        stream(seed, f"{DUMMY_JOBS} {attempt}"),
        users,
        recorder.dilation,
        SETTLING_S / campaign.time_scale,
        record,
    )
    actor = BackgroundActor(users, load)

    def check() -> None:
        kept = actor.check()
        if ends_if_void and kept is not None and kept.is_void:
            why = f"The background load was above its band for {kept.longest_above_s:.0f} s with no dummy job left"
            early = ended_early(why, recorder)
            raise BackgroundAboveBand(*early.args)

    with actor:
        recorder.background = actor
        try:
            yield check
        finally:
            recorder.background = None
            actor.stop()
            recorder.background_measures = actor.measures
            if actor.measures is not None:
                recorder.directory.update_manifest({"background": actor.measures.record()})
