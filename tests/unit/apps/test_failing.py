"""How a job fails: what one rank knows all of them raise, and a rank never waits without end."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from apps.failing import check_together, fail_alone, fail_together
from apps.solution import save_solution
from emulator.model.errors import InvalidInput, RunFailed


class Ended(BaseException):
    """The process has ended, with its exit code."""


class OneOfTwoRanks:
    """Communicator of a rank: rank 0 tells, rank 1 hears what rank 0 told."""

    broadcast = b""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def Ibcast(self, value: bytearray, root: int) -> Any:  # noqa: N802 - as in mpi4py
        assert root == 0
        if self.rank == 0:
            OneOfTwoRanks.broadcast = bytes(value)
        value[:] = OneOfTwoRanks.broadcast
        return self

    def Test(self) -> bool:  # noqa: N802
        return True


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """How long ranks slept; they are those of a job of two, on a node where no rank has failed yet."""

    def end(exit_code: int) -> NoReturn:
        raise Ended(exit_code)

    waited: list[float] = []
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("PMIX_SERVER_TMPDIR", str(tmp_path))
    monkeypatch.setattr("apps.failing.time.sleep", waited.append)
    monkeypatch.setattr("apps.failing.os._exit", end)
    return waited


def exit_code_of(rank: int, failing: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> int:
    """How the process of that rank ends, when it does `failing`."""
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
    monkeypatch.setattr("apps.start.mpi.world", lambda: OneOfTwoRanks(rank))
    with pytest.raises(Ended) as ended:
        failing()
    code: int = ended.value.args[0]
    return code


def test_what_rank_0_cannot_save_every_rank_raises(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "solution.npy"
    for rank, whole in ((0, np.zeros((2, 2))), (1, None)):
        with pytest.raises(RunFailed, match=r"could not be written to .*solution\.npy: No such file"):
            save_solution(OneOfTwoRanks(rank), whole, path)


def test_what_is_saved_is_the_whole_and_nobody_complains(tmp_path: Path) -> None:
    path = tmp_path / "solution.npy"
    for rank, whole in ((0, np.arange(4.0).reshape(2, 2)), (1, None)):
        save_solution(OneOfTwoRanks(rank), whole, path)
    assert np.array_equal(np.load(path), [[0.0, 1.0], [2.0, 3.0]])


def test_without_a_complaint_all_go_on() -> None:
    for rank in (0, 1):
        check_together(OneOfTwoRanks(rank), None)


@pytest.mark.parametrize(("error", "exit_code"), [(RunFailed("It overflowed."), 1), (InvalidInput("No grid."), 2)])
def test_rank_0_speaks_and_ends_at_once(
    error: RunFailed, exit_code: int, waits_s: list[float], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert exit_code_of(0, lambda: fail_together(error), monkeypatch) == exit_code
    assert waits_s == []
    assert capsys.readouterr().err == f"{error}\n"


def test_another_rank_that_is_not_ended_speaks_after_a_while(
    waits_s: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(1, lambda: fail_together(RunFailed("It overflowed.")), monkeypatch) == 1
    assert waits_s[0] > 0
    assert capsys.readouterr().err == "It overflowed.\n"


def test_of_a_nodes_ranks_only_the_first_to_fail_speaks(
    waits_s: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = partial(fail_alone, MemoryError("no\nspace"))
    assert [exit_code_of(rank, failing, monkeypatch) for rank in (1, 0)] == [1, 1]
    assert capsys.readouterr().err == "Rank 1 failed with MemoryError: no space\n"
