"""The process grid: shapes and numbering as published, blocks that cover every point once, components as strips."""

import pytest

from apps.grid import (
    Block,
    MasterAndWorkers,
    Neighbours,
    ProcessGrid,
    block_of,
    check_components,
    component_of,
    equal_components,
    square_block_of,
)
from emulator.model.errors import InvalidInput


@pytest.mark.parametrize(
    ("processes", "columns", "rows"),
    [
        (8, 4, 2),
        (16, 4, 4),
        (32, 8, 4),
        (64, 8, 8),
        (1, 1, 1),
        (2, 2, 1),
        (6, 3, 2),
        (7, 7, 1),
        (12, 4, 3),
        (400, 20, 20),
    ],
)
def test_shape_of_the_process_grid(processes: int, columns: int, rows: int) -> None:
    assert ProcessGrid.of_processes(processes) == ProcessGrid(columns, rows)


def test_no_process_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1 process, not 0"):
        ProcessGrid.of_processes(0)


def test_ranks_count_upwards_from_the_bottom_left_column_by_column() -> None:
    grid = ProcessGrid.of_processes(16)
    assert [[grid.rank(column, row) for column in range(4)] for row in (3, 2, 1, 0)] == [
        [3, 7, 11, 15],
        [2, 6, 10, 14],
        [1, 5, 9, 13],
        [0, 4, 8, 12],
    ]
    assert all(grid.rank(*grid.position(rank)) == rank for rank in range(16))


def test_neighbours_of_an_inner_rank_and_of_a_corner() -> None:
    grid = ProcessGrid.of_processes(16)
    inner = grid.neighbours(5)
    assert (inner.top, inner.bottom, inner.left, inner.right) == (6, 4, 1, 9)
    corner = grid.neighbours(15)
    assert (corner.top, corner.bottom, corner.left, corner.right) == (None, 14, 11, None)


@pytest.mark.parametrize("processes", [1, 2, 3, 6, 7, 8, 16, 30, 64])
def test_neighbours_are_mutual(processes: int) -> None:
    grid = ProcessGrid.of_processes(processes)
    for rank in range(processes):
        beside = grid.neighbours(rank)
        if beside.top is not None:
            assert grid.neighbours(beside.top).bottom == rank
        if beside.right is not None:
            assert grid.neighbours(beside.right).left == rank


@pytest.mark.parametrize(("processes", "side"), [(1, 1), (4, 5), (6, 7), (7, 7), (16, 50), (64, 101), (12, 401)])
def test_blocks_cover_every_point_once_and_differ_by_at_most_one(processes: int, side: int) -> None:
    grid = ProcessGrid.of_processes(processes)
    blocks = [block_of(rank, side, grid) for rank in range(processes)]
    points = [
        (row, column)
        for block in blocks
        for row in range(block.first_row, block.first_row + block.rows)
        for column in range(block.first_column, block.first_column + block.columns)
    ]
    assert sorted(points) == [(row, column) for row in range(side) for column in range(side)]
    assert max(block.rows for block in blocks) - min(block.rows for block in blocks) <= 1
    assert max(block.columns for block in blocks) - min(block.columns for block in blocks) <= 1


def test_rank_0_owns_the_bottom_left_and_the_colours_continue_over_blocks() -> None:
    grid = ProcessGrid.of_processes(4)
    first, above, right = (block_of(rank, 5, grid) for rank in (0, 1, 2))
    assert (first.first_column, first.first_row, first.first_is_black) == (0, 0, True)
    assert (above.first_column, above.first_row, above.first_is_black) == (0, 2, True)
    assert (right.first_column, right.first_row, right.first_is_black) == (2, 0, True)
    assert block_of(1, 6, grid).first_is_black is False


@pytest.mark.parametrize(("processes", "side"), [(7, 6), (16, 3), (2, 1)])
def test_a_grid_smaller_than_the_process_grid_is_refused(processes: int, side: int) -> None:
    with pytest.raises(InvalidInput, match=f"{side} x {side} points .* {processes} processes"):
        block_of(0, side, ProcessGrid.of_processes(processes))


def test_two_clusters_cut_sixteen_processes_between_ranks_7_and_8() -> None:
    components = equal_components(16, 2)
    assert components == (8, 8)
    assert [component_of(rank, components) for rank in range(16)] == [0] * 8 + [1] * 8
    grid = ProcessGrid.of_processes(16)
    across = [
        (rank, right)
        for rank in range(16)
        if (right := grid.neighbours(rank).right) is not None
        and component_of(rank, components) != component_of(right, components)
    ]
    assert across == [(4, 8), (5, 9), (6, 10), (7, 11)]


def test_components_may_be_unequal_and_more_than_the_clusters() -> None:
    check_components((6, 6, 4), 16, 2)
    assert [component_of(rank, (6, 6, 4)) for rank in (0, 5, 6, 11, 12, 15)] == [0, 0, 1, 1, 2, 2]
    with pytest.raises(InvalidInput, match="in none of the components"):
        component_of(16, (6, 6, 4))


@pytest.mark.parametrize(
    ("components", "clusters", "complaint"),
    [
        ((8, 4), 2, "12 processors together, but 16 processes run"),
        ((16, 0), 2, "at least 1 processor"),
        ((), 1, "at least 1 processor"),
        ((8, 8), 3, "cannot be spread over 3 clusters"),
        ((8, 8), 0, "cannot be spread over 0 clusters"),
    ],
)
def test_components_that_do_not_make_up_the_job_are_refused(
    components: tuple[int, ...], clusters: int, complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        check_components(components, 16, clusters)


@pytest.mark.parametrize("clusters", [0, -1, 3])
def test_clusters_that_do_not_divide_the_processes_need_named_sizes(clusters: int) -> None:
    with pytest.raises(InvalidInput, match="name the components' sizes"):
        equal_components(16, clusters)


@pytest.mark.parametrize(("processes", "side"), [(1, 1), (4, 2), (36, 6), (64, 8), (400, 20)])
def test_a_square_process_grid(processes: int, side: int) -> None:
    assert ProcessGrid.square_of_processes(processes) == ProcessGrid(side, side)


@pytest.mark.parametrize("processes", [-4, 0, 2, 3, 8, 35, 72])
def test_processes_that_are_no_square_make_no_square_grid(processes: int) -> None:
    with pytest.raises(InvalidInput, match=f"square process grid cannot be made of {processes} processes"):
        ProcessGrid.square_of_processes(processes)


def test_every_process_of_a_square_has_points_for_four_corners() -> None:
    blocks = [square_block_of(rank, 7, 9) for rank in range(9)]
    assert {process_grid for process_grid, _ in blocks} == {ProcessGrid(3, 3)}
    assert all(min(block.rows, block.columns) >= 2 for _, block in blocks)
    assert sum(block.points for _, block in blocks) == 49
    assert all(0 < block.diagonal_corner_points < block.points for _, block in blocks)


@pytest.mark.parametrize(("side", "processes"), [(1, 1), (3, 4), (11, 36)])
def test_a_grid_without_four_corners_for_each_process_is_refused(side: int, processes: int) -> None:
    with pytest.raises(InvalidInput, match=f"{side} x {side} points is too small"):
        square_block_of(processes - 1, side, processes)


@pytest.mark.parametrize(("columns", "rows", "diagonal"), [(4, 4, 8), (5, 3, 7), (3, 5, 7), (2, 2, 2), (7, 2, 7)])
def test_the_corners_on_a_blocks_diagonal(columns: int, rows: int, diagonal: int) -> None:
    upper_left = (rows - rows // 2) * (columns // 2)
    lower_right = (rows // 2) * (columns - columns // 2)
    assert Block(0, columns, 0, rows).diagonal_corner_points == upper_left + lower_right == diagonal


def test_a_master_owns_no_rows_and_its_workers_all_of_them_from_the_bottom() -> None:
    parts = MasterAndWorkers(4)
    assert parts.workers == 3
    assert list(parts.worker_ranks) == [1, 2, 3]
    blocks = [
        parts.block_of(
            rank,
            10,
        )
        for rank in range(4)
    ]
    assert blocks == [None, Block(0, 10, 0, 3), Block(0, 10, 3, 3), Block(0, 10, 6, 4)]
    assert [(parts.neighbours(rank).bottom, parts.neighbours(rank).top) for rank in (1, 2, 3)] == [
        (None, 2),
        (1, 3),
        (2, None),
    ]
    assert all(parts.neighbours(rank).left is parts.neighbours(rank).right is None for rank in (1, 2, 3))


def test_a_process_alone_is_its_own_worker_and_two_have_one() -> None:
    assert MasterAndWorkers(1).block_of(0, 5) == Block(0, 5, 0, 5)
    assert MasterAndWorkers(1).neighbours(0) == Neighbours(None, None, None, None)
    assert MasterAndWorkers(2).block_of(0, 5) is None
    assert MasterAndWorkers(2).block_of(1, 5) == Block(0, 5, 0, 5)
    assert MasterAndWorkers(2).neighbours(1) == Neighbours(None, None, None, None)


@pytest.mark.parametrize("rank", [0, 3])
def test_fewer_rows_than_workers_are_refused_by_every_rank(rank: int) -> None:
    with pytest.raises(InvalidInput, match="2 rows cannot be divided over 3 workers"):
        MasterAndWorkers(4).block_of(rank, 2)
