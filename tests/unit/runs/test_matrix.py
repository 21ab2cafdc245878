"""A matrix of measurements: which cells it has, which it leaves out and why, and what is no matrix at all."""

from __future__ import annotations

import pytest

from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.documents import validate
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.job import Numerics
from emulator.model.processor import Processor
from emulator.runs.matrix import Matrix, Problem, default_iterations, lay_out

MINI = topology_named("mini")


def matrix(**changes: object) -> Matrix:
    stated = {"applications": ("poisson",), "grids": (400,), "processors": (16,), "clusters": (1, 2, 4)}
    return validate({**stated, **changes}, Matrix, source="measure")


def test_components_are_equal_and_on_the_first_clusters():
    jobs = [cell.specification for cell in lay_out(matrix(), MINI).cells]
    assert [job.components for job in jobs] == [(16,), (8, 8), (4, 4, 4, 4)]
    assert [job.clusters for job in jobs] == [
        ("amsterdam",), ("amsterdam", "delft"), ("amsterdam", "delft", "leiden", "utrecht"),
    ]  # fmt: skip
    assert all(job.request.value == "fixed" for job in jobs)


def test_the_clusters_to_use_can_be_named():
    cells = lay_out(matrix(clusters=(1, 2), on=("utrecht", "delft")), MINI).cells
    assert [cell.specification.clusters for cell in cells] == [("utrecht",), ("utrecht", "delft")]


def test_parts_need_not_be_equal():
    layout = lay_out(matrix(processors=(12, 16), clusters=(1,), splits=((11, 5), (8, 2, 2), (8, 8)), on=()), MINI)
    assert [(cell.name, cell.specification.components, cell.clusters) for cell in layout.cells] == [
        ("poisson-400-on-12-over-1", (12,), 1),
        ("poisson-400-on-12-split-8-2-2", (8, 2, 2), 3),
        ("poisson-400-on-16-over-1", (16,), 1),
        ("poisson-400-on-16-split-11-5", (11, 5), 2),
        ("poisson-400-on-16-split-8-8", (8, 8), 2),
    ]
    assert [cell.variant.is_single for cell in layout.cells] == [True, False, True, False, False]
    assert layout.cells[3].shown == "poisson grid 400 on 16 processors over 2 clusters as 11+5"


def test_a_cluster_that_is_named_twice_gets_two_parts():
    layout = lay_out(matrix(clusters=(1,), splits=((6, 6, 4), (8, 8)), on=("delft", "delft", "leiden")), MINI)
    one, three, two = layout.cells
    assert three.specification.clusters == ("delft", "delft", "leiden")
    assert (one.clusters, three.clusters, two.clusters) == (1, 2, 1)
    assert three.shown == "poisson grid 400 on 16 processors over 2 clusters as 6+6+4, on delft+delft+leiden"
    assert two.shown == "poisson grid 400 on 16 processors over 1 cluster as 8+8, on delft+delft"
    assert [cell.variant.is_single for cell in layout.cells] == [True, False, False]


def test_equal_parts_are_not_measured_twice():
    layout = lay_out(matrix(clusters=(1, 2), splits=((8, 8), (12, 4))), MINI)
    assert [cell.name for cell in layout.cells] == [
        "poisson-400-on-16-over-1", "poisson-400-on-16-over-2", "poisson-400-on-16-split-12-4",
    ]  # fmt: skip


def test_jobs_of_many_parts_have_names_of_their_own():
    """A job's name has 64 characters at most, and the sizes of sixteen parts do not fit."""
    splits = ((18, 14, *(16,) * 14), (*(16,) * 14, 18, 14))
    many = matrix(processors=(256,), clusters=(16,), splits=splits, communication=True)
    names = [cell.name for cell in lay_out(many, equal_clusters("16x32")).cells]
    assert names[0] == "poisson-400-on-256-over-16"
    assert len(names) == len(set(names)) == 6


def test_a_part_larger_than_its_cluster_leaves_its_split_out():
    layout = lay_out(matrix(processors=(20,), clusters=(2,), splits=((17, 3),)), MINI)
    assert [cell.name for cell in layout.cells] == ["poisson-400-on-20-over-2"]
    assert "over 2 clusters as 17+3: " in layout.left_out[0]


@pytest.mark.parametrize(
    ("splits", "complaint"),
    [
        (((16,),), "16 is a single part"),
        (((8, 4),), "8,4 makes 12 processors"),
        (((8, 0, 8),), "must be greater than 0"),
        (((8, 8), (8, 8)), "is named twice"),
    ],
)
def test_a_split_divides_a_number_of_processors_that_is_measured(splits, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        matrix(splits=splits)


def test_every_combination_of_the_lists_is_a_cell_and_cells_of_a_problem_stand_together():
    layout = lay_out(matrix(grids=(100, 400), processors=(8, 16), clusters=(1, 2)), MINI)
    assert [cell.name for cell in layout.cells] == [
        f"poisson-{grid}-on-{processors}-over-{clusters}"
        for grid in (100, 400) for processors in (8, 16) for clusters in (1, 2)
    ]  # fmt: skip
    assert [len(cells) for cells in layout.problems] == [2, 2, 2, 2]
    assert layout.left_out == ()


def test_impossible_combinations_are_left_out_each_with_a_sentence():
    measurement = matrix(applications=("laplace", "ensflow"), grids=(64,), processors=(8, 15, 16, 32), clusters=(1, 3))
    layout = lay_out(measurement, MINI)
    assert [cell.name for cell in layout.cells] == [
        "laplace-64-on-16-over-1", "ensflow-64-on-15-over-1", "ensflow-64-on-15-over-3",
    ]  # fmt: skip
    expected = {
        "laplace grid 64 on 8 processors: ": "square",
        "laplace grid 64 on 16 processors over 3 clusters: ": "do not divide equally among 3 clusters",
        "ensflow grid 64 on 8 processors: ": "60 members cannot be divided over 8 processes",
    }
    for beginning, reason in expected.items():
        assert any(
            sentence.startswith(beginning) and reason in sentence and sentence.endswith(".")
            for sentence in layout.left_out
        )
    assert len(layout.left_out) == 7


def test_a_component_larger_than_its_cluster_is_left_out():
    layout = lay_out(matrix(processors=(32,)), MINI)
    assert [cell.clusters for cell in layout.cells] == [2, 4]
    assert "component of 32 processors, but the largest cluster of 'mini' has 16" in layout.left_out[0]


def test_a_basin_too_small_for_its_observations_is_left_out():
    layout = lay_out(matrix(applications=("ensflow",), grids=(1, 64), processors=(15,), clusters=(1,)), MINI)
    assert [cell.name for cell in layout.cells] == ["ensflow-64-on-15-over-1"]
    assert "one for each row of observations, not 1." in layout.left_out[0]


def test_members_that_are_set_decide_which_processors_share_them():
    measurement = matrix(
        applications=("ensflow",), processors=(16,), clusters=(1,), own_arguments={"ensflow": {"members": 32}}
    )
    assert lay_out(measurement, MINI).cells[0].specification.arguments["members"] == 32


def test_one_cluster_may_be_run_over_the_interconnect_of_coallocated_jobs_too():
    cells = lay_out(matrix(clusters=(1, 2), as_coallocated=True, communication=True), MINI).cells
    assert [cell.name.removeprefix("poisson-400-on-16-over-") for cell in cells] == [
        "1", "1-synchronized", "1-as-coallocated", "1-as-coallocated-synchronized", "2", "2-synchronized",
    ]  # fmt: skip
    assert [cell.variant.is_single for cell in cells] == [True, False, False, False, False, False]
    assert [cell.specification.interconnect for cell in cells] == [None, None, *["coallocated"] * 2, None, None]


def test_the_processors_speed_goes_to_every_job():
    cells = lay_out(matrix(processor_speed=60), MINI).cells
    assert {cell.specification.processor_speed for cell in cells} == {60}


def test_every_job_samples_its_numerics_if_that_is_asked_for():
    assert {cell.specification.numerics for cell in lay_out(matrix(), MINI).cells} == {Numerics.REAL}
    assert {cell.specification.numerics for cell in lay_out(matrix(numerics="sampled"), MINI).cells} == {
        Numerics.SAMPLED
    }
    with pytest.raises(InvalidInput, match="measure: numerics"):
        matrix(numerics="guessed")


def test_an_application_without_a_grid_has_one_problem_whatever_the_grids():
    layout = lay_out(matrix(applications=("synthetic",), grids=(100, 400), clusters=(1, 2)), MINI)
    assert [cell.name for cell in layout.cells] == ["synthetic-on-16-over-1", "synthetic-on-16-over-2"]
    assert "grid" not in layout.cells[0].specification.arguments


def test_arguments_go_to_every_application_or_to_the_one_named():
    measurement = matrix(
        applications=("poisson", "heat"), clusters=(1,), iterations=7,
        arguments={"amplitude": 2.0}, own_arguments={"poisson": {"exchange": "overlapped"}},
    )  # fmt: skip
    poisson, heat = (cell.specification.arguments for cell in lay_out(measurement, MINI).cells)
    assert poisson == {"grid": 400, "iterations": 7, "tolerance": 0, "amplitude": 2.0, "exchange": "overlapped"}
    assert heat == {"grid": 400, "steps": 7, "amplitude": 2.0}


def test_communication_runs_every_cell_synchronized_too():
    cells = lay_out(matrix(clusters=(1, 2), communication=True), MINI).cells
    assert [(cell.clusters, cell.synchronized) for cell in cells] == [(1, False), (1, True), (2, False), (2, True)]
    assert [cell.specification.arguments.get("synchronized", False) for cell in cells] == [False, True] * 2
    assert len({cell.name for cell in cells}) == 4


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        (
            {"clusters": (5,), "processors": (20,)},
            ImpossibleRequest,
            "cannot spread over 5 clusters: 4 are of topology",
        ),
        ({"clusters": (3,)}, ImpossibleRequest, "16 processors do not divide equally among 3 clusters"),
        ({"processors": (128,), "clusters": (1,)}, ImpossibleRequest, "asks for 128 processors, but 'mini' has 64"),
        ({"clusters": (2,), "on": ("delft",)}, ImpossibleRequest, "1 are named by --on"),
        ({"clusters": (1,), "on": ("paris",)}, UnknownName, "no cluster 'paris'"),
        ({"clusters": (1, 1)}, InvalidInput, "measure: clusters: 1 is named twice"),
        ({"clusters": (0,)}, InvalidInput, "measure: clusters.0: must be greater than 0, not 0"),
        ({"clusters": ()}, InvalidInput, "measure: clusters"),
        ({"grids": (0,)}, InvalidInput, "measure: grids.0"),
        ({"grids": (3,)}, ImpossibleRequest, "cannot be divided over 16 processes"),
        ({"repeat": 0}, InvalidInput, "measure: repeat"),
        ({"dilation": 0}, InvalidInput, "measure: dilation"),
        ({"dilation": float("nan")}, InvalidInput, "measure: dilation"),
        ({"applications": ("No Such",)}, InvalidInput, "measure: applications.0: must be 1 to 31 letters"),
        ({"applications": ("nosuch",)}, UnknownName, "no application 'nosuch'"),
        ({"arguments": {"iterations": 3}}, InvalidInput, "iterations: say it with --iterations"),
        ({"applications": ("heat",), "arguments": {"iterations": 3}}, InvalidInput, "iterations: say it with --iterat"),
        (
            {"applications": ("synthetic",), "arguments": {"compute-s": 0.5}, "processor_speed": 10},
            InvalidInput,
            "processor_speed: 10 would not change how long synthetic computes",
        ),
        ({"arguments": {"grid": 3}}, InvalidInput, "grid: say it with --grid"),
        ({"arguments": {"weight": 3}}, InvalidInput, "arguments.weight: the testbed sets this argument itself"),
        (
            {"applications": ("heat",), "arguments": {"tolerance": 0}},
            InvalidInput,
            "arguments.tolerance: heat has no such argument",
        ),
        ({"own_arguments": {"heat": {"steps": 3}}}, InvalidInput, "'heat' is not among the applications measured"),
        ({"applications": ("heat",), "communication": True}, InvalidInput, "border exchange of 'heat' is not recorded"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(changes, error, sentence):
    with pytest.raises(error, match=sentence):
        lay_out(matrix(**changes), MINI)


def test_if_nothing_is_possible_the_first_reason_is_said_and_the_others_counted():
    with pytest.raises(ImpossibleRequest, match=r"among 3 clusters .* any of 1 other combinations"):
        lay_out(matrix(clusters=(3, 5)), MINI)


def test_the_default_number_of_iterations_suits_the_grid_and_the_application():
    assert default_iterations(Problem("poisson", 400, 16), MINI.processor) == 120
    assert default_iterations(Problem("poisson", 4000, 16), MINI.processor) == 20
    assert default_iterations(Problem("poisson", 10**6, 1), MINI.processor) == 20
    heavy = MINI.processor.model_copy(update={"weights": {"heat": 4.0}})
    # Heat's master has no points, so that 17 processes divide the grid as 16 of Poisson do.
    poisson = default_iterations(Problem("poisson", 1600, 16), heavy)
    assert default_iterations(Problem("heat", 1600, 17), heavy) == pytest.approx(poisson / 4, abs=1)
    assert default_iterations(Problem("poisson", 400, 16), Processor(name="native", unpaced=True)) == 120
