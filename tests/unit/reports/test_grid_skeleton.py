"""The skeleton's parameters add up to the application, and its program reads what is written."""

import json
import re
from itertools import pairwise

import pytest

from apps.grid import equal_components
from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.point_costs import WorkingSet
from emulator.model.topology import Topology
from emulator.reports.exports.grid_skeleton import NOBODY, SkeletonJob, host_list, skeleton_parameters
from emulator.reports.exports.simgrid import (
    COMMANDS_FILE,
    HOSTS_FILE,
    PARAMETERS_FILE,
    PLATFORM_FILE,
    SKELETON_FILE,
    commands,
    simgrid_files,
)
from tests.unit.model.test_real_head import HALF_REAL

DAS2 = topology_named("das2")
ETHERNET = DAS2.interconnects.coallocated


def job(grid: int = 400, processes: int = 16, clusters: int = 2, iterations: int = 20, **more: object) -> SkeletonJob:
    names = tuple(DAS2.cluster_names[:clusters])
    return SkeletonJob(grid, iterations, equal_components(processes, clusters), names, **more)


JOBS = [job(), job(grid=401), job(processes=7, clusters=1), job(grid=50, clusters=4), job(processes=64, clusters=4)]


@pytest.mark.parametrize("requested", JOBS, ids=lambda requested: f"{requested.grid}-{requested.components}")
def test_points_costs_and_borders_add_up(requested):
    found = skeleton_parameters(DAS2, ETHERNET, requested)
    assert sum(found["points"]) == requested.grid**2
    assert [8 * points for points in found["points"]] == [
        rows * columns / 8 for rows, columns in zip(found["row_bytes"], found["column_bytes"], strict=True)
    ]
    costs = DAS2.processor.costs
    assert found["compute_s"] == [pytest.approx(costs.duration_s(WorkingSet(points))) for points in found["points"]]
    for flops, duration_s in zip(found["compute_flops"], found["compute_s"], strict=True):
        assert flops / found["flops_per_s"] == pytest.approx(duration_s)


def test_a_flop_is_an_update_in_cache_and_one_out_of_cache_costs_more():
    in_cache = skeleton_parameters(DAS2, ETHERNET, job(grid=400))
    out_of_cache = skeleton_parameters(DAS2, ETHERNET, job(grid=4000))
    costs = DAS2.processor.costs
    dearer = costs.out_of_cache_ns_per_point / costs.in_cache_ns_per_point
    assert in_cache["compute_flops"] == pytest.approx(in_cache["points"])
    assert out_of_cache["compute_flops"] == pytest.approx([points * dearer for points in out_of_cache["points"]])


@pytest.mark.parametrize("requested", JOBS, ids=lambda requested: f"{requested.grid}-{requested.components}")
def test_who_sends_is_received_from_and_borders_are_as_long_on_both_sides(requested):
    found = skeleton_parameters(DAS2, ETHERNET, requested)
    for towards, back, length in (("top", "bottom", "row_bytes"), ("left", "right", "column_bytes")):
        for rank, neighbour in enumerate(found[towards]):
            if neighbour != NOBODY:
                assert found[back][neighbour] == rank
                assert found[length][neighbour] == found[length][rank]
    assert sum(rank != NOBODY for rank in found["top"]) == sum(rank != NOBODY for rank in found["bottom"])


@pytest.mark.parametrize("requested", JOBS, ids=lambda requested: f"{requested.grid}-{requested.components}")
def test_all_report_to_rank_0_and_each_other_cluster_once_across_the_wide_area(requested):
    found = skeleton_parameters(DAS2, ETHERNET, requested)
    parents, clusters = found["reports_to"], found["cluster"]
    for rank in range(requested.processes):
        steps = 0
        while rank != 0:
            rank, steps = parents[rank], steps + 1
            assert steps < requested.processes
    across = [rank for rank, parent in enumerate(parents) if rank and clusters[rank] != clusters[parent]]
    assert len(across) == len(requested.components) - 1


def test_messages_inside_a_cluster_cost_their_sender_what_the_interconnect_says():
    found = skeleton_parameters(DAS2, ETHERNET, job())
    assert found["message_s"] == ETHERNET.message_s
    assert found["message_flops"] / found["flops_per_s"] == pytest.approx(ETHERNET.message_s)
    assert skeleton_parameters(DAS2, None, job())["message_flops"] == 0


def test_processes_are_on_the_first_processors_of_their_clusters_in_the_order_of_ranks():
    hosts = host_list(DAS2, SkeletonJob(400, 20, (3, 1), ("delft", "leiden")))
    assert hosts == ["delft.0.0", "delft.0.1", "delft.1.0", "leiden.0.0"]


def test_borders_go_in_steps_unless_asked_otherwise():
    found = [skeleton_parameters(DAS2, ETHERNET, job(exchange=mode)) for mode in ("steps", "overlapped")]
    assert [parameters["overlapped"] for parameters in found] == [0, 1]


def test_the_program_reads_no_parameter_that_is_not_written():
    files = simgrid_files(DAS2, ETHERNET, job())
    parameters = json.loads(files[PARAMETERS_FILE])
    program = files[SKELETON_FILE]
    read = set(re.findall(r'number\w*\(text, "(\w+)"', program)) | set(re.findall(r'"(\w+_bytes)"', program))
    read |= set(re.findall(r'"(\w+)"[,}]', "".join(re.findall(r"\[STEPS\] = (\{.*?\};)", program))))
    assert {"processes", "compute_flops", "reports_to", "top", "right", "row_bytes"} <= read
    assert read <= parameters.keys()


def test_a_real_cluster_is_left_out_and_a_job_on_it_refused():
    half_real = parse_document(HALF_REAL, Topology, source="half.yaml")
    files = simgrid_files(half_real, None, SkeletonJob(400, 20, (2, 2), ("east", "west")))
    assert 'id="east.to.west"' in files[PLATFORM_FILE]
    assert "das" not in files[PLATFORM_FILE]
    with pytest.raises(InvalidInput, match="'das' is real: nothing is known of its links"):
        simgrid_files(half_real, None, SkeletonJob(400, 20, (2, 2), ("east", "das")))


def test_the_parameters_are_as_flat_as_the_program_takes_them():
    text = simgrid_files(DAS2, ETHERNET, job())[PARAMETERS_FILE]
    for key, value in json.loads(text).items():
        assert text.count(f'"{key}":') == 1
        assert isinstance(value, str | int | float) or all(isinstance(number, int | float) for number in value)


def test_the_commands_use_the_files_and_run_every_process():
    requested = job()
    files = simgrid_files(DAS2, ETHERNET, requested)
    compiling, running = commands(requested)
    assert files.keys() == {PLATFORM_FILE, HOSTS_FILE, PARAMETERS_FILE, SKELETON_FILE, COMMANDS_FILE}
    assert compiling.startswith("smpicc ")
    assert SKELETON_FILE in compiling
    assert f"-np 16 -hostfile {HOSTS_FILE} -platform {PLATFORM_FILE}" in running
    assert running.endswith(PARAMETERS_FILE)
    assert files[HOSTS_FILE].count("\n") == requested.processes
    lines = files[COMMANDS_FILE].splitlines()
    assert [lines.index(command) for command in commands(requested)] == [len(lines) - 2, len(lines) - 1]
    assert all(host in files[PLATFORM_FILE] for host in files[HOSTS_FILE].split())


def test_laplace_exchanges_borders_twice_and_meets_every_20_iterations():
    found = skeleton_parameters(DAS2, ETHERNET, job(processes=36, application="laplace"))
    assert (found["phases"], found["meets_every"], found["overlapped"]) == (2, 20, 1)
    assert found["points"] == skeleton_parameters(DAS2, ETHERNET, job(processes=36))["points"]


def test_heat_s_master_computes_nothing_and_its_workers_have_rows_and_never_meet():
    found = skeleton_parameters(DAS2, ETHERNET, job(grid=300, processes=16, application="heat"))
    assert (found["phases"], found["meets_every"], found["overlapped"]) == (1, 0, 0)
    assert (found["points"][0], found["compute_flops"][0]) == (0, 0.0)
    assert found["points"][1:] == [20 * 300] * 15
    assert [found[direction][0] for direction in ("top", "bottom")] == [NOBODY, NOBODY]
    assert found["top"][1:] == [*range(2, 16), NOBODY]
    assert found["bottom"][1:] == [NOBODY, *range(1, 15)]
    assert set(found["left"]) == set(found["right"]) == {NOBODY}


def test_more_processes_compute_less_each():
    shares = [max(skeleton_parameters(DAS2, None, job(4000, size, 1))["compute_s"]) for size in (8, 16, 32, 64)]
    assert all(more > less for more, less in pairwise(shares))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: job(iterations=1), InvalidInput, "at least 2 iterations, not 1"),
        (lambda: job(exchange="both"), InvalidInput, "steps or overlapped, not 'both'"),
        (lambda: job(application="ensflow"), UnknownName, "no grid application 'ensflow'"),
        (lambda: skeleton_parameters(DAS2, None, job(processes=8, application="laplace")), InvalidInput, "square"),
        (lambda: SkeletonJob(400, 20, (8, 8), ("delft", "delft")), InvalidInput, "each of them once"),
        (lambda: SkeletonJob(400, 20, (8, 0), ("delft", "leiden")), InvalidInput, "at least 1 processor"),
        (lambda: skeleton_parameters(DAS2, None, job(grid=3)), InvalidInput, "cannot be divided"),
        (lambda: host_list(DAS2, SkeletonJob(400, 20, (80,), ("delft",))), ImpossibleRequest, "does not fit"),
        (lambda: host_list(DAS2, SkeletonJob(400, 20, (8,), ("paris",))), UnknownName, "no cluster 'paris'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()
