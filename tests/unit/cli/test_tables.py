"""Tables on terminals of any width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.cli.tables import WHOLE_WORD, column_widths, show_rows

FACTOR = {
    "run": "factors",
    "job": "poisson 1000",
    "processors": "16",
    "clusters": "2",
    "iteration (ms)": "31.38",
    "factor [95%]": "1.821 [1.805, 1.838]",
    "n": "3",
    "verdict": "valid",
}


@pytest.mark.parametrize("width", [80, 90, 100, 140])
def test_no_short_word_is_broken_where_all_of_them_fit(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    show_rows([FACTOR], as_json=False)
    shown = capsys.readouterr().out
    words = {word for cell in [*FACTOR, *FACTOR.values()] for word in cell.split()}
    assert words <= set(shown.split())
    assert all(len(line) <= width for line in shown.splitlines())


def test_what_fits_is_not_narrowed():
    assert column_widths([["run", "reason"], ["a", "none at all"]], 80) == [3, 11]


def test_the_widest_column_gives_way_first():
    assert column_widths([["run", "reason"], ["first", "a b c d e f g h i j k l m n"]], 20) == [5, 10]


@given(
    st.lists(st.lists(st.text("ab cé漢\n", max_size=40), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(10, 120),
)
def test_a_table_never_exceeds_its_line(lines, most):
    widths = column_widths(lines, most)
    if widths is None:
        return
    assert sum(widths) + 3 * (len(widths) - 1) + 2 <= most
    for column, width in enumerate(widths):
        short = [word for line in lines for word in line[column].split() if len(word) <= WHOLE_WORD // 2]
        assert all(len(word) <= width for word in short)


def test_an_empty_table_shows_nothing(capsys):
    show_rows([], as_json=False, title="Nothing")
    assert capsys.readouterr().out.strip() == ""
