"""The synthetic application: who sends to whom in each pattern, and the sentences for what it cannot mean."""

import pytest

from apps.run import make_parser
from apps.synthetic import PATTERNS, Pattern, Round, SyntheticOptions, read_options, rounds_of
from emulator.model.errors import InvalidInput


def options(line: str) -> SyntheticOptions:
    return read_options(make_parser("synthetic").parse_args(["synthetic", *line.split()]))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_every_message_sent_is_received_in_the_same_round(pattern: Pattern, size: int) -> None:
    by_rank = [rounds_of(pattern, rank, size) for rank in range(size)]
    assert len({tuple(len(rounds) for rounds in of_rank) for of_rank in by_rank}) == 1
    for step, number in [(step, number) for step, rounds in enumerate(by_rank[0]) for number in range(len(rounds))]:
        sent = {(rank, receiver) for rank in range(size) for receiver in by_rank[rank][step][number].receivers}
        received = {(sender, rank) for rank in range(size) for sender in by_rank[rank][step][number].senders}
        assert sent == received
        assert all(sender != receiver for sender, receiver in sent)


def test_neighbours_are_those_of_the_process_grid() -> None:
    assert rounds_of("neighbours", 5, 16) == ((Round((6, 4, 1, 9), (6, 4, 1, 9)),),)
    assert rounds_of("neighbours", 0, 16) == ((Round((1, 4), (1, 4)),),)


def test_all_to_all_is_a_message_to_each_other_rank() -> None:
    assert rounds_of("all-to-all", 2, 4) == ((Round((3, 0, 1), (3, 0, 1)),),)


def test_pairs_exchange_at_distances_of_powers_of_two_in_turn() -> None:
    assert rounds_of("pairs", 0, 8) == tuple((Round((to,), (source,)),) for to, source in [(1, 7), (2, 6), (4, 4)])


def test_the_master_answers_when_all_workers_have_asked() -> None:
    assert rounds_of("master-worker", 0, 4) == ((Round((), (1, 2, 3)), Round((1, 2, 3), ())),)
    assert rounds_of("master-worker", 3, 4) == ((Round((0,), ()), Round((), (0,))),)


def test_a_line_with_everything() -> None:
    line = "--iterations 7 --compute-s 0.5 --pattern all-to-all --message-bytes 80 --collective-every 3"
    assert options(f"{line} --collective-bytes 16") == SyntheticOptions(7, 0.5, None, "all-to-all", 80, 3, 16)
    assert options("--points 100") == SyntheticOptions(100, None, 100, "neighbours", 800, None, 8)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "either --compute-s or --points"),
        ("--compute-s 1 --points 1", "either --compute-s or --points"),
        ("--points 1 --iterations 0", "--iterations must be at least 1, not 0"),
        ("--points 0", "--points must be at least 1 grid point, not 0"),
        ("--points -5", "--points must be at least 1 grid point, not -5"),
        ("--compute-s 0", "--compute-s must be a positive number of emulated seconds, not 0"),
        ("--compute-s -1", "--compute-s must be a positive number"),
        ("--compute-s nan", "--compute-s must be a positive number of emulated seconds, not nan"),
        ("--compute-s inf", "--compute-s must be a positive number"),
        ("--compute-s 1 --native", "--compute-s needs paced processors"),
        ("--points 1 --message-bytes 0", "--message-bytes must be a positive multiple of 8"),
        ("--points 1 --message-bytes -8", "--message-bytes must be a positive multiple of 8"),
        ("--points 1 --message-bytes 12", "--message-bytes must be a positive multiple of 8, .* not 12"),
        ("--points 1 --collective-bytes 7", "--collective-bytes must be a positive multiple of 8"),
        ("--points 1 --collective-every 0", "--collective-every must be at least 1 iteration, not 0"),
        ("--points 1 --pattern star", "invalid choice: 'star'"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        options(line)
