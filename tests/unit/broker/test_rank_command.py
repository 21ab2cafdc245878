"""The command line of a job's ranks: the user's arguments, then where and on what they run."""

from itertools import permutations

import pytest

from apps.grid import ProcessGrid, block_of
from apps.registry import APPLICATIONS, check_program
from apps.run import make_parser, read_setting
from emulator.broker.jobs.rank_command import clocks_ahead, command_line, shared_nodes
from emulator.clusters.protocol import NodeShare, Part
from emulator.fidelity.iteration.predicted import ModelJob, computed_s
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.interconnects import Interconnects, WhichInterconnect
from emulator.model.job import JobSpecification
from emulator.model.point_costs import WorkingSet
from emulator.model.processor import processor_named
from emulator.model.topology import Link
from emulator.model.units import BYTES_PER_POINT

DAS2 = topology_named("das2")
DAS2_2003 = topology_named("das2-2003")
MINI = topology_named("mini")


def words(application="poisson", parts=(8,), topology=MINI, clusters=(), **arguments) -> list[str]:
    specification = JobSpecification(application=application, arguments=arguments, components=parts)
    return command_line(specification, parts, topology, Dilation(8), clusters)


def value(line: list[str], option: str) -> str:
    (found,) = (word.removeprefix(f"{option}=") for word in line if word.startswith(f"{option}="))
    return found


def options(line: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in line[2:]}


def test_the_users_arguments_come_first_and_a_false_one_is_left_out():
    line = words(grid=400, synchronized=True, tolerance=0, quiet=False)
    assert line[:5] == ["start-rank", "poisson", "--grid=400", "--synchronized", "--tolerance=0"]
    assert "--quiet" not in options(line)


def test_a_value_may_begin_with_a_minus_whatever_number_it_is():
    line = words(grid=8, iterations=1, amplitude=-1e-05)
    assert make_parser("poisson").parse_args(line[1:]).amplitude == -1e-05


def test_components_and_dilation_are_the_brokers_and_the_start_is_announced():
    line = words(parts=(8, 4))
    assert value(line, "--components") == "8,4"
    assert value(line, "--clusters") == "2"
    assert value(line, "--dilation") == "8"
    assert "--start-announced" in line


def test_a_job_in_one_cluster_uses_another_interconnect_than_a_coallocated_one():
    stated = DAS2.interconnects
    assert value(words(topology=DAS2), "--interconnect") == stated.single_cluster.as_argument
    assert value(words(topology=DAS2, parts=(4, 4)), "--interconnect") == stated.coallocated.as_argument
    without = MINI.model_copy(update={"interconnects": Interconnects()})
    assert "--interconnect" not in options(words(topology=without))


def test_a_job_in_one_cluster_may_be_asked_to_use_the_interconnect_of_coallocated_ones():
    specification = JobSpecification(application="poisson", components=(8,), interconnect=WhichInterconnect.COALLOCATED)
    line = command_line(specification, (8,), DAS2, Dilation(8), None)
    assert value(line, "--interconnect") == DAS2.interconnects.coallocated.as_argument


def test_faster_processors_divide_what_computing_costs_and_nothing_else():
    plain, scaled = (
        command_line(
            JobSpecification(application="poisson", components=(8,), processor_speed=scale),
            (8,),
            DAS2,
            Dilation(8),
            None,
        )
        for scale in (1.0, 50.0)
    )
    for option in ("--in-cache-ns-per-point", "--out-of-cache-ns-per-point"):
        assert float(value(scaled, option)) == pytest.approx(float(value(plain, option)) / 50)
    for option in ("--cache-bytes", "--weight", "--interconnect", "--dilation"):
        assert value(scaled, option) == value(plain, option)


def test_the_processors_costs_and_the_applications_weight_are_passed():
    weighed = DAS2.processor.model_copy(update={"weights": {"heat": 0.5}})
    line = words(application="heat", topology=DAS2.model_copy(update={"processor": weighed}))
    costs = DAS2.processor.costs
    assert float(value(line, "--in-cache-ns-per-point")) == costs.in_cache_ns_per_point
    assert float(value(line, "--out-of-cache-ns-per-point")) == costs.out_of_cache_ns_per_point
    assert int(value(line, "--cache-bytes")) == costs.cache_bytes
    assert value(line, "--weight") == "0.5"
    assert value(words(), "--weight") == "1.0"


def told_s(line: list[str], application: str, shapes: list[tuple[int, int]], arrays: int) -> list[float]:
    """Return the seconds of one sweep that each rank takes from its command line."""
    setting = read_setting(make_parser(application).parse_args(line[1:]), len(shapes))
    touched = arrays * BYTES_PER_POINT
    return [setting.duration_s(WorkingSet(points, touched, row), rank) for rank, (points, row) in enumerate(shapes)]


def test_ranks_that_share_nodes_in_time_are_told_their_nodes_and_compute_alone():
    parts = [Part("10.0.0.1", "7", 3, (NodeShare("n2", 2), NodeShare("n5", 1)))]
    assert shared_nodes(parts) == ["--shared-nodes=n2,n2,n5"]
    line = [*words(parts=(3,), topology=topology_named("cisne-shared"), grid=90), *shared_nodes(parts)]
    assert value(line, "--per-node") == "1"
    setting = read_setting(make_parser("poisson").parse_args(line[1:]), 3)
    assert setting.shared_nodes == ("n2", "n2", "n5")


@pytest.mark.parametrize(("options", "said"), [(("--native",), "native"), ((), "each of 3 ranks, not 2")])
def test_ranks_that_share_nodes_need_paced_processors_and_a_node_each(options, said):
    line = [*words(parts=(3,), grid=90), *options, "--shared-nodes", "n1,n2,n3" if options else "n1,n2"]
    with pytest.raises(InvalidInput, match=said):
        read_setting(make_parser("poisson").parse_args(line[1:]), 3)


def parts_of(topology, sizes: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    return tuple(zip(topology.cluster_names, sizes, strict=False))


@pytest.mark.parametrize("sizes", [(8,), (16,), (9, 7), (24, 16, 8)])
@pytest.mark.parametrize("grid", [100, 1000, 4000])
def test_ranks_compute_as_long_as_the_model_says(sizes, grid):
    """What a rank is told makes its phases as long as `testbed predict` takes them to be."""
    line = words(parts=sizes, topology=DAS2_2003, grid=grid, iterations=1)
    process_grid = ProcessGrid.of_processes(sum(sizes))
    blocks = [block_of(rank, grid, process_grid) for rank in range(sum(sizes))]
    told = told_s(line, "poisson", [(block.points, block.columns) for block in blocks], arrays=2)
    assert told == pytest.approx(computed_s(DAS2_2003, ModelJob("poisson", grid, parts_of(DAS2_2003, sizes))))


def test_ranks_of_an_ensemble_compute_as_long_as_the_model_says():
    sizes, grid = (7, 5), 128
    line = words("ensflow", parts=sizes, topology=DAS2_2003, grid=grid)
    share = APPLICATIONS["ensflow"].work.largest_share(grid, sum(sizes), {})
    told = told_s(line, "ensflow", [(share.points, share.row_points)] * sum(sizes), APPLICATIONS["ensflow"].form.arrays)
    model_s = computed_s(DAS2_2003, ModelJob("ensflow", grid, parts_of(DAS2_2003, sizes)))
    assert [share.sweeps * sweep_s for sweep_s in told] == pytest.approx(model_s)


def test_each_cluster_has_nodes_of_its_own_size():
    """The last rank of nine is alone on a node of two, and the nodes of the other cluster have four processors."""
    wide = DAS2_2003.clusters[1].model_copy(update={"processors_per_node": 4})
    topology = DAS2_2003.model_copy(update={"clusters": (DAS2_2003.clusters[0], wide, *DAS2_2003.clusters[2:])})
    names = topology.cluster_names
    assert value(words(parts=(9, 7), topology=topology), "--per-node") == "2,4"
    assert value(words(parts=(9, 7), topology=topology, clusters=(names[1], names[2])), "--per-node") == "4,2"
    line = words(parts=(9, 7), topology=topology, grid=1000, iterations=1)
    setting = read_setting(make_parser("poisson").parse_args(line[1:]), 16)
    assert [setting.computing_beside(rank) for rank in range(16)] == [*[2] * 8, 1, *[4] * 4, *[3] * 3]


def test_messages_are_stretched_by_their_spread_and_collectives_follow_the_pattern():
    line = words(parts=(8, 8), topology=DAS2_2003)
    among = DAS2_2003.among(16)
    assert value(line, "--interconnect") == among.interconnects.coallocated.as_argument
    assert value(line, "--collectives") == "binomial"
    stretch = among.default_link.delay_s / DAS2_2003.default_link.delay_s
    assert float(value(line, "--far-stretch")) == pytest.approx(stretch)
    for unstretched in (words(parts=(16,), topology=DAS2_2003), words(parts=(8, 8), topology=DAS2)):
        assert not {"--far-stretch", "--far-delays-s"} & options(unstretched)
    assert "--far-stretch" not in options(words(parts=(1, 1), topology=DAS2_2003))


def test_what_the_spread_adds_between_clusters_is_that_of_each_pair_of_links():
    clusters = DAS2.cluster_names[:3]
    one_way = Link.model_validate({"from": clusters[2], "to": clusters[1], "delay_s": 0.005, "one_way": True})
    spread = DAS2.model_copy(update={"collectives": DAS2_2003.collectives, "links": (*DAS2.links, one_way)})
    line = words(parts=(4, 4, 4), topology=spread, clusters=clusters)
    setting = read_setting(make_parser("poisson").parse_args([*line[1:], "--grid", "8", "--iterations", "1"]), 12)
    assert setting.far_stretch == pytest.approx(DAS2_2003.collectives.stretch(12))
    for source, target in permutations(range(3), 2):
        assert setting.far_delay_s(source, target) == spread.path(clusters[source], clusters[target]).delay_s
    assert setting.far_delay_s(1, 1) == 0.0


def test_small_jobs_in_one_cluster_have_nodes_of_their_own_if_the_topology_says_so():
    assert value(words(parts=(8,), topology=DAS2_2003), "--per-node") == "1"
    assert value(words(parts=(10,), topology=DAS2_2003), "--per-node") == "2"
    assert value(words(parts=(4, 4), topology=DAS2_2003), "--per-node") == "2,2"


def test_a_native_processor_is_not_paced():
    line = words(topology=MINI.model_copy(update={"processor": processor_named("native")}))
    assert "--native" in line
    assert not {"--weight", "--cache-bytes", "--in-cache-ns-per-point"} & options(line)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_may_be_submitted(application):
    check_program(application, {})


def test_an_unknown_application_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match=r"no application 'quake' \(known: poisson, laplace, heat, ensflow, synth"):
        check_program("quake", {})


@pytest.mark.parametrize("argument", ["weight", "interconnect", "native", "dilation", "start-at", "cache-bytes"])
def test_an_argument_that_is_the_testbeds_is_refused(argument):
    with pytest.raises(InvalidInput, match=f"arguments.{argument}: the testbed sets this argument itself"):
        check_program("poisson", {argument: 1})


@pytest.mark.parametrize(("application", "length"), [("heat", "steps"), ("ensflow", "days")])
def test_a_length_is_stated_by_the_applications_own_name_of_it(application, length):
    """Else planner and campaigns would not see it, and add a length of their own."""
    check_program(application, {length: 20})
    with pytest.raises(InvalidInput, match=rf"arguments.iterations: a job of {application} states .* as {length};"):
        check_program(application, {"grid": 64, "iterations": 20})


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_argument_that_the_application_does_not_have_is_refused(application):
    known = APPLICATIONS[application].arguments
    check_program(application, known)
    with pytest.raises(InvalidInput, match=rf"arguments\.toleranse: {application} has no such argument \(known: "):
        check_program(application, {*known, "toleranse"})


def test_a_speed_is_refused_where_a_job_states_in_seconds_how_long_it_computes():
    check_program("synthetic", {"points": 100}, processor_speed=10.0)
    check_program("synthetic", {"compute-s": 0.5}, processor_speed=1.0)
    with pytest.raises(InvalidInput, match=r"processor_speed: 10 would not change .* compute-s states in seconds"):
        check_program("synthetic", {"compute-s": 0.5}, processor_speed=10.0)


def test_the_ranks_know_every_option_that_the_broker_sets():
    """The options of the applications' own command line, of which the broker's are a part."""
    for topology in (MINI, DAS2, MINI.model_copy(update={"processor": processor_named("native")})):
        line = words(parts=(4, 4), topology=topology, grid=100, iterations=1)
        make_parser("poisson").parse_args(line[1:])


def test_sampled_numerics_are_passed_and_real_ones_are_the_ranks_default():
    assert "--numerics" not in options(words())
    specification = JobSpecification(application="poisson", components=(8,), numerics="sampled")
    assert value(command_line(specification, (8,), MINI, Dilation(8), None), "--numerics") == "sampled"


def test_ranks_learn_how_far_the_clock_of_their_cluster_is_ahead_if_one_is():
    assert clocks_ahead(["amsterdam", "delft"], {}) == clocks_ahead(["amsterdam"], {"delft": 0.5}) == []
    line = [*words(parts=(4, 4), grid=8, iterations=1), *clocks_ahead(["delft", "leiden"], {"delft": -0.25})]
    setting = read_setting(make_parser("poisson").parse_args(line[1:]), 8)
    assert [setting.clock_ahead_s(rank) for rank in (0, 3, 4, 7)] == [-0.25, -0.25, 0.0, 0.0]
    assert (
        read_setting(make_parser("poisson").parse_args(words(parts=(8,), grid=8, iterations=1)[1:]), 8).clock_ahead_s(7)
        == 0
    )
