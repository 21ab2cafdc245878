"""The command line of a job's ranks: the user's arguments, then where and on what they run."""

import pytest

from apps.registry import APPLICATIONS, check_program
from apps.run import make_parser
from emulator.broker.jobs.rank_command import command_line
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.interconnects import Interconnects, WhichInterconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import processor_named

DAS2 = topology_named("das2")
MINI = topology_named("mini")


def words(application="poisson", parts=(8,), topology=MINI, host_start_timestamp_s=None, **arguments) -> list[str]:
    specification = JobSpecification(application=application, arguments=arguments, components=parts)
    return command_line(specification, parts, topology, Dilation(8), host_start_timestamp_s)


def value(line: list[str], option: str) -> str:
    return line[line.index(option) + 1]


def test_the_users_arguments_come_first_and_a_false_one_is_left_out():
    line = words(grid=400, synchronized=True, tolerance=0, quiet=False)
    assert line[:7] == ["start-rank", "poisson", "--grid", "400", "--synchronized", "--tolerance", "0"]
    assert "--quiet" not in line


def test_components_dilation_and_start_are_the_brokers():
    line = words(parts=(8, 4), host_start_timestamp_s=12.5)
    assert value(line, "--components") == "8,4"
    assert value(line, "--clusters") == "2"
    assert value(line, "--dilation") == "8"
    assert value(line, "--start-at") == "12.500000"


def test_a_job_in_one_cluster_uses_another_interconnect_than_a_coallocated_one():
    stated = DAS2.interconnects
    assert value(words(topology=DAS2), "--interconnect") == stated.single_cluster.as_argument
    assert value(words(topology=DAS2, parts=(4, 4)), "--interconnect") == stated.coallocated.as_argument
    without = MINI.model_copy(update={"interconnects": Interconnects()})
    assert "--interconnect" not in words(topology=without)


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


def test_a_native_processor_is_not_paced():
    line = words(topology=MINI.model_copy(update={"processor": processor_named("native")}))
    assert "--native" in line
    assert not {"--weight", "--cache-bytes", "--in-cache-ns-per-point"} & set(line)


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


def test_the_ranks_know_every_option_that_the_broker_sets():
    """The options of the applications' own command line, of which the broker's are a part."""
    for topology in (MINI, DAS2, MINI.model_copy(update={"processor": processor_named("native")})):
        line = words(parts=(4, 4), topology=topology, host_start_timestamp_s=1.0, grid=100, iterations=1)
        make_parser("poisson").parse_args(line[1:])


def test_sampled_numerics_are_passed_and_real_ones_are_the_ranks_default():
    assert "--numerics" not in words()
    specification = JobSpecification(application="poisson", components=(8,), numerics="sampled")
    assert value(command_line(specification, (8,), MINI, Dilation(8), None), "--numerics") == "sampled"
