"""The picture of parts: a bar as high as each factor, one for the single cluster, what is negative below zero."""

from __future__ import annotations

import pytest

from emulator.fidelity.attribution import WHOLE, Part
from emulator.model.cell_rows import AttributionRow
from emulator.reports.attribution_figure import _bars, attribution_figure, write_attribution


def rows(clusters: int, grid: int = 400, components: tuple[int, ...] = (8, 8), **added: float) -> list[AttributionRow]:
    singles = {Part.COMPUTE: 0.8, Part.INTERCONNECT: 0.2}
    parts = {part.value: (singles.get(part, 0.0), added.get(part.value, 0.0)) for part in Part}
    parts[WHOLE] = (1.0, sum(added.values()))
    return [
        AttributionRow(
            application="poisson", grid=grid, processors=16, components=components, clusters=clusters, dilation=8.0,
            part=part, single_share=single, added=more, added_s=more, ci_low=more - 0.1, ci_high=more + 0.1, n=3,
            verdict="valid",
        ) for part, (single, more) in parts.items()
    ]  # fmt: skip


def test_bars_are_as_high_as_the_factors_and_the_first_of_a_problem_is_the_single_cluster():
    bars = _bars([*rows(2, latency=4.0, interconnect=-0.3), *rows(4, latency=5.0), *rows(2, grid=100, rate=2.0)])
    assert [label.splitlines()[0] for label, _, _ in bars] == ["poisson 400"] * 3 + ["poisson 100"] * 2
    assert [sum(parts.values()) for _, parts, _ in bars] == pytest.approx([1.0, 4.7, 6.0, 1.0, 3.0])
    assert [whole is None for _, _, whole in bars] == [True, False, False, True, False]
    assert bars[1][1]["interconnect"] == pytest.approx(-0.1)


def test_unequal_parts_have_a_bar_of_their_own():
    bars = _bars([*rows(2, latency=1.0), *rows(2, components=(12, 4), latency=2.0)])
    assert [label.splitlines()[2] for label, _, _ in bars] == ["1 cluster", "2 clusters", "2 clusters (12+4)"]
    assert [sum(parts.values()) for _, parts, _ in bars] == pytest.approx([1.0, 2.0, 3.0])


def test_the_same_parts_make_the_same_picture_and_none_make_none(tmp_path):
    assert write_attribution(tmp_path, []) == []
    drawn = rows(2, latency=4.0, emulator=-0.1)
    (path,) = write_attribution(tmp_path, drawn)
    assert path.read_bytes() == attribution_figure(drawn)
    assert path.read_bytes().startswith(b"\x89PNG")
