"""The dilation of a campaign: as stated, or found by pilots of its most demanding jobs, alone and together.

The simulator places the jobs with the campaign's own policy and discipline, and so says which of them run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.model.clock import Dilation
from emulator.planning.plan import floor_dilation, host_duration_s
from emulator.planning.planned_hosts import resources_of
from emulator.planning.planned_runs import PlannedCampaign, check_possible, planned_campaign, planned_fixed
from emulator.planning.trying import Pace, Subject, Trial, choose_dilations
from emulator.runs.holding import Testbed
from emulator.runs.progress import ProgressReport, ReportProgress
from workloads.campaign import Campaign
from workloads.schedule import Arrival


@dataclass(frozen=True, slots=True)
class CampaignDilation:
    """The dilation of a campaign, and how it was found."""

    dilation: float
    how: str

    def record(self) -> dict[str, object]:
        """Return it as a manifest keeps it."""
        return {"dilation": self.dilation, "how": self.how}


def chosen_dilation(
    testbed: Testbed,
    campaign: Campaign,
    arrivals: Sequence[Arrival],
    seed: int,
    folder: Path,
    report_progress: ReportProgress,
    *,
    tried: bool,
    even_if_hopeless: bool,
) -> CampaignDilation:
    """Return the dilation of `campaign`; if it is to be `tried`, make pilots with records in `folder`.

    Raises:
        Hopeless: if the testbed's hosts cannot hold the campaign, unless it is to run `even_if_hopeless`.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost.
    """
    if testbed.topology.real_clusters or any(arrival.specification.command for arrival in arrivals):
        # Nothing is known of clusters and links that are not emulated, nor of programs of users' own.
        return CampaignDilation(campaign.dilation, "as stated")
    planned = planned_campaign(campaign, arrivals, seed, testbed.topology)
    if not even_if_hopeless:
        check_possible(planned.run, resources_of(testbed), Dilation(campaign.dilation))
    choice = CampaignDilation(campaign.dilation, "as stated")
    if tried:
        choice = _tried(testbed, campaign, planned, folder, report_progress)
    minutes = max(1, round(host_duration_s(planned.run, Dilation(choice.dilation)) / 60))
    sentence = f"Campaign {campaign.name} at dilation {choice.dilation:g}, {choice.how}: about {minutes} min"
    report_progress(ProgressReport("starting the campaign", remark=sentence))
    return choice


def _tried(
    testbed: Testbed, campaign: Campaign, planned: PlannedCampaign, folder: Path, report_progress: ReportProgress
) -> CampaignDilation:
    resources = resources_of(testbed)
    alone = planned_fixed(planned.hardest, testbed.topology)
    trials = [Trial(f"{planned.hardest.name} alone", (planned.hardest,), (alone.iteration_s,))]
    if len(planned.together) > 1:
        iterations_s = tuple(planned_fixed(job, testbed.topology).iteration_s for job in planned.together)
        trials.append(Trial(f"{len(planned.together)} jobs at once", planned.together, iterations_s))
    subject = Subject(campaign.name, tuple(trials), floor_dilation(planned.run, resources))
    pace = Pace(paced_middleware=True, time_scale=campaign.time_scale)
    chosen = choose_dilations(testbed, [subject], folder, report_progress, pace)[campaign.name].chosen
    return CampaignDilation(chosen.dilation, chosen.how)
