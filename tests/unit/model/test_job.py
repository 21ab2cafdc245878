"""Jobs: what may be asked for, and the times that follow from a timeline."""

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.job import JobSpecification, Timeline


def job(text: str) -> JobSpecification:
    return parse_document("application: poisson\n" + text, JobSpecification, source="job.yaml")


def test_a_fixed_request_names_its_clusters_by_name_and_gets_indices():
    request = job("components: [8, 4]\nrequest: fixed\nclusters: [utrecht, delft]").request_in(topology_named("mini"))
    assert (request.components, request.clusters, request.processors) == ((8, 4), (3, 1), 12)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("components: [16, 16, 16, 16, 1]", ImpossibleRequest, "asks for 65 processors, but 'mini' has 64"),
        ("components: [17]", ImpossibleRequest, "component of 17 processors, but the largest cluster of 'mini' has 16"),
        (
            "components: [9, 9]\nrequest: fixed\nclusters: [delft, delft]",
            ImpossibleRequest,
            "asks for 18 processors in cluster 'delft', which has 16",
        ),
        ("components: [1]\nrequest: fixed\nclusters: [paris]", UnknownName, "no cluster 'paris'"),
        ("components: [1, 2]\nrequest: fixed\nclusters: [delft]", InvalidInput, "2 components and 1 cluster"),
        ("components: [1]\nqueue: paris", UnknownName, "no cluster 'paris'"),
    ],
)
def test_what_mini_could_never_run_is_refused_before_it_is_queued(text, error, said):
    def request_and_queue() -> tuple:
        specification, mini = job(text), topology_named("mini")
        return specification.request_in(mini), specification.queue_in(mini)

    with pytest.raises(error, match=said):
        request_and_queue()


def test_a_flexible_job_says_how_it_may_be_split():
    mini = topology_named("mini")
    limited = job("components: [24]\nrequest: flexible\nleast_component: 4\nmost_components: 3").request_in(mini)
    assert (limited.least_component, limited.most_components) == (4, 3)
    listed = job("components: [24]\nrequest: flexible\nsplits: [[12, 12], [8, 8, 8]]").request_in(mini)
    assert listed.splits == ((12, 12), (8, 8, 8))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("components: []", "components"),
        ("components: [0]", "components.0: must be greater than 0, not 0"),
        ("components: [8]\nname: ../../etc/passwd", "name"),
        ("components: [8]\narguments: {'grid;reboot': 4}", "arguments"),
        ("components: [8]\narguments: {grid: '$(reboot)'}", "arguments"),
        ("components: [8]\nrequest: fixed", "names one cluster per component"),
        ("components: [1000000001]", "components.0"),
        ("components: [8]\nsize: 8", "unknown key 'size'"),
        ("components: [8, 8]\nclusters: [delft, delft]", "clusters: a non-fixed request leaves the clusters to"),
        ("components: [8, 8]\nrequest: flexible", "components: a flexible request is one total, not [8, 8]"),
        ("components: [8]\nrequest: flexible\nsplits: [[]]", "splits.0"),
        ("components: [8]\nrequest: flexible\nsplits: [[4, 3]]", "splits: [4, 3] does not divide the total of 8"),
        ("components: [8]\nrequest: flexible\nsplits: [[8, 0]]", "splits.0.1: must be greater than 0"),
        ("components: [8]\nrequest: flexible\nsplits: &a [*a]", "splits.0"),
        ("components: [8]\nrequest: flexible\nsplits: many", "splits: must be a list"),
        ("components: [8]\nrequest: flexible\nsplits: [[4, 4]]\nmost_components: 2", "splits: give either"),
        ("components: [8]\nrequest: flexible\nleast_component: 9", "least_component: must lie in 1 to 8"),
        ("components: [8]\nrequest: flexible\nmost_components: 0", "most_components: must be greater than 0"),
        ("components: [8]\nmost_components: 2", "most_components: a non-fixed request states its components"),
        ("components: [8]\nsplits: [[8]]", "splits: a non-fixed request states its components"),
        ("components: [8]\nqueue: ../delft", "queue"),
    ],
)
def test_a_malformed_or_hostile_job_is_refused_in_one_sentence(text, said):
    with pytest.raises(InvalidInput) as refusal:
        job(text)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_derived_times_are_those_of_the_papers():
    timeline = Timeline(submitted_s=10, placed_s=14, claimed_s=15, started_s=20, finished_s=50)
    assert (timeline.queue_time_s, timeline.overhead_s, timeline.wait_time_s) == (4, 6, 10)
    assert (timeline.execution_time_s, timeline.response_time_s) == (30, 40)
    assert Timeline(submitted_s=10).wait_time_s is None


def test_the_close_to_files_papers_example_success_at_175_gains_75_seconds_and_wastes_5():
    """JPT = 100, JST = 180."""
    timeline = Timeline(submitted_s=90, placed_s=100, claimed_s=175, started_s=180)
    assert (timeline.processor_gained_time_s, timeline.processor_wasted_time_s) == (75, 5)
    assert Timeline(submitted_s=90, placed_s=100).processor_gained_time_s is None
