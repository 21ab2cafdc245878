"""What is in examples/ works as it says: documents are valid, the policy decides as described, records can be read."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.catalogue import topology_named
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.placement import Component, Placement
from emulator.model.project import PROJECT_ROOT
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.policies.factory import accepting_fixed
from emulator.policies.registry import placement_policy
from emulator.policies.state import SystemState
from emulator.runs.replay import replay_run
from emulator.runs.run_directory import read_run
from emulator.simulator import simulate
from emulator.simulator.runtime_tables import read_factors
from workloads.estimates import with_estimates

EXAMPLES = PROJECT_ROOT / "examples"
POLICY = f"{EXAMPLES / 'policies' / 'one_cluster_first.py'}:OneClusterFirst"
RECORD = EXAMPLES / "recorded" / "poisson-1000-on-16"
LOCAL_EASY = f"{EXAMPLES / 'policies' / 'local_easy.py'}:LocalEasy"
COMPILERS = {"C": "gcc", "C++": "g++", "Fortran": "gfortran"}
"""The Debian package with the compiler of each language."""


def placed(idle: tuple[int, ...], components: tuple[int, ...]) -> Placement | None:
    request = JobRequest(RequestKind.NON_FIXED, components)
    return placement_policy(POLICY).place(request, SystemState((32,) * len(idle), idle))


@pytest.mark.parametrize(
    ("idle", "components", "expected"),
    [
        ((20, 16, 32), (8, 8), (1, 1)),  # the cluster that it fills
        ((10, 15, 12), (8, 8), (1, 2)),  # none holds all of it
        ((7, 7, 7), (8, 2), None),
    ],
)
def test_the_policy_spreads_a_job_only_if_it_must(idle, components, expected) -> None:
    placement = placed(idle, components)
    found = None if placement is None else tuple(component.cluster for component in placement.components)
    assert found == expected


def test_the_policy_keeps_the_order_of_the_components() -> None:
    """The larger one, which it places first, is the second of the request; so it is on exclusive nodes of 2."""
    shared = placed((5, 3, 0), (3, 5))
    assert shared == Placement((Component(1, 3), Component(0, 5)))
    exclusive = accepting_fixed(placement_policy(POLICY), None, 2)
    request = JobRequest(RequestKind.NON_FIXED, (3, 5))
    assert exclusive.place(request, SystemState((32, 32), (6, 4))) == Placement((Component(1, 4), Component(0, 6)))


def starts(jobs: list[StreamJob], clusters: list[int], queue: str) -> dict[int, float]:
    finished = simulate(jobs, clusters=clusters, queue=queue, keep_jobs=True).finished
    return {job.id: job.start_s for job in finished}


def test_local_backfilling_starts_each_job_when_easy_does_on_that_cluster_alone() -> None:
    numbers, sizes = random.Random(1), [16, 24]
    arrivals_s = itertools.accumulate(numbers.expovariate(0.5) for _ in range(300))
    requests = [JobRequest(RequestKind.UNORDERED, (numbers.randint(1, 16),)) for _ in range(300)]
    drawn = [
        StreamJob(number, arrival_s, numbers.expovariate(0.2), requests[number], numbers.choice((0, 1)))
        for number, arrival_s in enumerate(arrivals_s)
    ]
    jobs = list(with_estimates(drawn, 3.0, seed=1))
    at_home = [[job for job in jobs if job.queue == home] for home in (0, 1)]
    alone = [starts(at_home[home], [sizes[home]], "easy") for home in (0, 1)]
    assert alone[0] != starts(at_home[0], sizes[:1], "fcfs")
    assert starts(jobs, sizes, LOCAL_EASY) == alone[0] | alone[1]


def test_local_backfilling_takes_jobs_of_one_component_with_an_estimate() -> None:
    for components, estimate_s in (((4, 4), 9.0), ((4,), None)):
        job = StreamJob(1, 0.0, 5.0, JobRequest(RequestKind.UNORDERED, components, estimate_s=estimate_s), 0)
        with pytest.raises(InvalidInput, match=r"of one component|estimate_s"):
            starts([job], [16, 16], LOCAL_EASY)


def test_the_topology_and_the_job_are_valid_and_fit() -> None:
    topology = topology_named(str(EXAMPLES / "two-sites.yaml"))
    job = read_document(EXAMPLES / "spanning-job.yaml", JobSpecification)
    assert max(job.components) <= min(cluster.processors for cluster in topology.clusters)


@pytest.mark.parametrize("policy", ["cm", POLICY])
def test_the_campaign_is_simulated_with_the_recorded_factors(policy: str) -> None:
    options = SimulationOptions(policy=policy, runtime=read_factors(RECORD / "extension_factors.csv"))
    _, result = simulate_workload(str(EXAMPLES / "mixed-campaign.yaml"), options)
    assert result.statistics.jobs_finished == 30


def test_the_recorded_measurement_is_valid() -> None:
    records = read_run(RECORD)
    assert records.manifest.verdict == "valid"
    assert [row.clusters for row in records.extension_factors] == [1, 2, 4]


@pytest.mark.parametrize("record", sorted(path.parent for path in EXAMPLES.glob("recorded/*/manifest.json")))
def test_every_decision_of_a_record_can_be_made_again(record: Path) -> None:
    replayed = replay_run(record)
    assert replayed.decisions > 5
    assert not replayed.differences


def test_the_compiler_image_has_a_compiler_of_each_language_that_its_page_names() -> None:
    page = (PROJECT_ROOT / "docs" / "own-programs.md").read_text(encoding="utf-8")
    named = re.search(r"runs as a job: in (.*), or Python", page)
    assert named is not None
    needed = {COMPILERS[language] for language in named[1].split(", ")}
    installed = set((EXAMPLES / "own-program" / "Dockerfile").read_text(encoding="utf-8").split())
    assert needed - installed == set()


@pytest.mark.parametrize("page", ["own-programs.md", "tutorials/own-program.ipynb"])
def test_a_program_is_compiled_without_a_mount_or_a_user(page: str) -> None:
    """Rootless Docker and SELinux refuse them, so the sources are in the image."""
    lines = (PROJECT_ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    (command,) = [line for line in lines if "docker run" in line]
    assert "run --rm own-compiler sh -c 'mpicc -O2 -o heat heat.c && cat heat' > " in command
    assert "COPY . .\n" in (EXAMPLES / "own-program" / "Dockerfile").read_text(encoding="utf-8")


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    named = [path.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*") if path.suffix in (".py", ".yaml")]
    assert [str(path) for path in named if f"]({path})" not in listed] == []
