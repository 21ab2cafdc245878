"""The command line of the applications: what it means, and the sentence for what it cannot mean."""

import json
import os
import sys

import numpy as np
import pytest

from apps.announcement import read_announcement
from apps.grid import Block
from apps.poisson import Problem, read_options
from apps.run import main, make_parser, read_setting
from apps.timeline import host_wait_s
from emulator.model.errors import InvalidInput
from emulator.model.point_costs import WorkingSet


def test_the_contract_of_the_broker() -> None:
    line = (
        "poisson --grid 400 --iterations 100 --dilation 8 --clusters 2 --components 8,8 --start-announced"
        " --in-cache-ns-per-point 120 --out-of-cache-ns-per-point 260 --cache-bytes 1000"
    )
    arguments = make_parser("poisson").parse_args(line.split())
    options, setting = read_options(arguments), read_setting(arguments, 16)
    assert (options.problem.side_points, options.iterations, options.tolerance) == (400, 100, 0.0)
    assert (setting.dilation.factor, setting.clusters, setting.components) == (8.0, 2, (8, 8))
    assert setting.profile is not None
    assert setting.duration_s(WorkingSet(100), 0) == pytest.approx(12e-6)
    assert arguments.start_announced


@pytest.mark.parametrize(
    ("written", "announced"),
    [
        ([b"1000.5 2\n"], (1000.5, 2.0)),
        ([b"10", b"00.5 2.0", b"00000\n"], (1000.5, 2.0)),
        ([b"0.000000 0\n"], (None, 0.0)),
    ],
)
def test_the_start_is_announced_by_a_line_on_standard_input(
    written: list[bytes], announced: tuple[float, float]
) -> None:
    reader, writer = os.pipe()
    for part in written:
        os.write(writer, part)
    assert read_announcement(reader) == announced
    os.close(reader)
    os.close(writer)


def test_an_input_that_ends_announces_nothing() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    assert read_announcement(reader) is None
    os.close(reader)


@pytest.mark.parametrize("written", [b"now\n", b"1 2 3\n", b"1\n"])
def test_an_input_that_announces_no_start_is_refused(written: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, written)
    os.close(writer)
    with pytest.raises(ValueError, match="Standard input does not announce the start by two numbers"):
        read_announcement(reader)
    os.close(reader)


@pytest.mark.parametrize(
    ("start_at_s", "within_s", "wait_s"),
    [(None, None, 0), (1_010, None, 10), (1_010, 12, 10), (990, 12, 0), (4_610, 12, 12)],
)
def test_the_wait_for_the_start_is_never_longer_than_it_was_when_the_start_was_planned(start_at_s, within_s, wait_s):
    """The last one is a wall clock that was set back by an hour."""
    assert host_wait_s(start_at_s, within_s, host_now_s=1_000) == wait_s


def test_native_processors_have_no_profile() -> None:
    arguments = make_parser("poisson").parse_args(["poisson", "--grid=4", "--iterations=1", "--native"])
    assert read_setting(arguments, 1).profile is None


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ("--grid 0 --iterations 1", "--grid must be at least 1"),
        ("--grid 4 --iterations 0", "--iterations must be at least 1"),
        ("--grid 4", "never end"),
        ("--grid 4 --tolerance -1", "--tolerance must be"),
        ("--grid 4 --tolerance nan", "--tolerance must be"),
        ("--grid 4 --iterations 1 --amplitude inf", "--amplitude must be"),
        ("--grid 4 --iterations 1 --dilation 0", "dilation must be"),
        ("--grid 4 --iterations 1 --components 8;8", "--components must be sizes"),
        ("--grid 4 --iterations 1 --clusters 3", "cannot be divided equally"),
        ("--grid 4 --iterations 1 --in-cache-ns-per-point 0", "must be positive"),
        ("--grid 4 --iterations 1 --memory 8:16384", "A memory is stated as WAYS"),
        ("--grid 4 --iterations 1 --memory 0:16384:0.2:30", "A memory is stated as WAYS"),
        ("--grid 4 --iterations 1 --memory 8:16384:-1:30", "A memory is stated as WAYS"),
        ("--grid 4 --iterations 1 --per-node 0", "--per-node must be at least 1"),
        ("--grid 4 --iterations 1 --per-node 2,2,2", "--per-node must be one number or one for each of"),
        ("--grid 4 --iterations 1 --per-node two", "--per-node must be sizes"),
        ("--grid 4 --iterations 1 --far-stretch 0.5", "--far-stretch must be 1 or more"),
        ("--grid 4 --iterations 1 --clusters 2 --far-stretch 2", "states 0 delays; .* one for each of 2 pairs"),
        ("--grid 4 --iterations 1 --clusters 2 --far-delays-s 0.1,0.1", "states 2 delays; .* without it none"),
        ("--grid 4 --iterations 1 --clusters 2 --far-stretch 2 --far-delays-s 1,-1", "zero or more seconds each"),
        ("--grid 4 --iterations 1 --clusters 2 --far-stretch 2 --far-delays-s 1;1", "must be seconds such as"),
        ("--grid 4 --iterations 1 --numerics sampled --native", "--numerics sampled needs paced processors"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(extra: str, complaint: str) -> None:
    arguments = make_parser("poisson").parse_args(["poisson", *extra.split()])
    with pytest.raises(InvalidInput, match=complaint):
        (read_setting(arguments, 16), read_options(arguments))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ocean --grid 4",
        "poisson",
        "poisson --grid four",
        "poisson --grid 4 --speed 9",
        "poisson --grid 4 --iterations 1 --nativ",
    ],
)
def test_a_line_that_cannot_be_read_is_one_sentence_and_exit_code_2(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"event": "failed", "reason": captured.err.strip()}
    assert len(captured.err.splitlines()) == 1
    assert captured.err.endswith("--help`.\n")


def test_reading_the_arguments_needs_no_mpi() -> None:
    make_parser("poisson")
    assert "mpi4py" not in sys.modules


def test_the_problem_satisfies_poissons_equation() -> None:
    problem, whole = Problem(63, 2.0), Block(0, 63, 0, 63)
    values = np.pad(problem.solution(whole), 1)
    laplacian = values[2:, 1:-1] + values[:-2, 1:-1] + values[1:-1, 2:] + values[1:-1, :-2] - 4 * values[1:-1, 1:-1]
    assert np.abs(laplacian + problem.source(whole)[1:-1, 1:-1]).max() < 1e-5
    assert values.max() == pytest.approx(2.0)


def test_a_blocks_part_of_the_problem_is_the_wholes() -> None:
    problem = Problem(9, 1.0)
    whole = problem.solution(Block(0, 9, 0, 9))
    assert np.array_equal(problem.solution(Block(3, 4, 5, 2)), whole[5:7, 3:7])
