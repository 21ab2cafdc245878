"""Repeating published tables: which problems are run and how, what is resumed, and what stands beside the published."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.model.catalogue import topology_named
from emulator.model.cell_rows import ReproductionRow
from emulator.model.errors import InvalidInput, RunFailed, UnknownName
from emulator.model.job import JobState
from emulator.model.views import EventKind
from emulator.runs.matrix import lay_out
from emulator.runs.run_directory import read_rows
from emulator.studies.claims import decide
from emulator.studies.published_tables import TABLES, Reproduction
from emulator.studies.reproduction import matrix_of, reproduce, resume_reproduction
from emulator.studies.reproduction_claims import reproduction_claims
from emulator.studies.reproduction_rows import mean_errors, reproduction_rows

DAS2 = topology_named("das2")
ITERATION_S = {"pbs-1": 1.3e-3, "globus-1": 3.4e-3, "globus-2": 9.0e-3, "globus-4": 9.0e-3}


def reproduction_of(**changes: object) -> Reproduction:
    return Reproduction.model_validate(
        {"name": "poisson-runtimes", "grids": (400,), "processors": (16,), "repeat": 2, "dilation": 8} | changes
    )


def silent(progress) -> None:
    pass


def as_on_das2(job) -> dict[str, object]:
    """An application's record with about the published seconds of an iteration at grid 400."""
    specification = job.specification
    middleware = "globus" if specification.interconnect or len(specification.components) > 1 else "pbs"
    iteration_s = ITERATION_S[f"{middleware}-{len(specification.components)}"] * (1 + 0.001 * (job.id // 4 % 2))
    interconnects = "myrinet" if middleware == "pbs" else "ethernet"
    return {"iteration_s": iteration_s, "runtime_s": 100 * iteration_s, "interconnects": interconnects}


@pytest.fixture
def reproduced(testbed, broker, tmp_path):
    broker.more_results = as_on_das2
    return reproduce(testbed, reproduction_of(), tmp_path / "run", silent)


def test_a_table_has_the_problems_that_were_published():
    shown = [(problem.grid, problem.processors) for problem in Reproduction(name="poisson-runtimes").problems()]
    assert shown == [
        *((grid, 16) for grid in (50, 100, 400, 1000, 4000)),
        *((grid, processors) for grid in (100, 1000, 4000) for processors in (8, 32, 64)),
    ]
    assert [problem.grid for problem in Reproduction(name="border-exchange").problems()] == [100, 400, 4000]
    assert [problem.processors for problem in Reproduction(name="ensflow-runtimes").problems()] == [12, 15, 20, 30, 60]


@pytest.mark.parametrize(
    ("grids", "processors", "problems"),
    [
        ((4000,), (), [(4000, 16), (4000, 8), (4000, 32), (4000, 64)]),
        ((50,), (), [(50, 16)]),
        ((4000,), (64, 4), [(4000, 64), (4000, 4)]),
        ((50, 10000), (8, 64), [(50, 8), (50, 64), (10000, 8), (10000, 64)]),
    ],
)
def test_grids_and_processors_choose_problems_and_add_what_was_not_published(grids, processors, problems):
    chosen = reproduction_of(grids=grids, processors=processors).problems()
    assert [(problem.grid, problem.processors) for problem in chosen] == problems


@pytest.mark.parametrize("grid", [50, 1000, 10000])
@pytest.mark.parametrize("processors", [8, 16, 32, 64])
def test_any_grid_and_processors_can_be_laid_out_in_all_four_setups(grid, processors):
    chosen = reproduction_of(grids=(grid,), processors=(processors,), dilation=None)
    (problem,) = chosen.problems()
    layout = lay_out(matrix_of(chosen, problem, DAS2), DAS2)
    assert [(cell.clusters, cell.specification.interconnect) for cell in layout.cells] == [
        (1, None), (1, "coallocated"), (2, None), (4, None),
    ]  # fmt: skip


def test_an_unknown_table_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match=f"'table-4' .known: {', '.join(TABLES)}"):
        Reproduction(name="table-4").problems()


def test_each_cell_stands_beside_what_was_published(reproduced):
    rows = reproduction_rows(reproduced)
    assert [row.setup for row in rows] == list(ITERATION_S)
    four = rows[3]
    assert (four.published_s, four.iterations) == (pytest.approx(30.8), 3814)
    assert four.measured_s == pytest.approx(9.0e-3 * 3814, rel=1e-3)
    assert four.error == pytest.approx(four.measured_s / 30.8 - 1)
    assert four.published_factor == pytest.approx(30.8 / 4.95)
    assert four.factor == pytest.approx(9.0 / 1.3, rel=1e-3)
    assert four.factor_error == pytest.approx(four.factor / four.published_factor - 1)
    assert four.ci_low < four.factor < four.ci_high
    assert rows[0].factor is None
    assert all(row.calibrated for row in rows)


def test_errors_of_calibrated_and_of_predicted_cells_are_apart(reproduced):
    rows = reproduction_rows(reproduced)
    errors = mean_errors(rows, "runtime", calibrated=True)
    assert (errors.n_totals, errors.n_factors) == (4, 3)
    assert errors.totals == pytest.approx(sum(abs(row.error) for row in rows) / 4)
    assert mean_errors(rows, "runtime", calibrated=False).totals is None


def test_what_was_not_published_has_an_iteration_and_a_factor_and_no_error(testbed, broker, tmp_path):
    broker.more_results = as_on_das2
    rows = reproduction_rows(reproduce(testbed, reproduction_of(grids=(2000,)), tmp_path / "run", silent))
    assert [(row.published_s, row.error, row.calibrated) for row in rows] == [(None, None, False)] * 4
    assert rows[2].factor == pytest.approx(9.0 / 1.3, rel=1e-3)


def test_scaled_times_are_compared_with_scaled_published_ones(testbed, broker, tmp_path):
    broker.more_results = lambda job: {"iteration_s": 3.0, "runtime_s": 30.0}
    chosen = Reproduction(name="ensflow-runtimes", processors=(12,), repeat=1, processor_speed=60, dilation=8)
    rows = reproduction_rows(reproduce(testbed, chosen, tmp_path / "run", silent))
    assert [row.setup for row in rows] == ["pbs-1", "globus-2", "globus-3", "globus-4"]
    assert rows[0].measured_s == pytest.approx(60.0)
    assert rows[0].error == pytest.approx(60.0 * 60 / 3485 - 1)
    assert [row.calibrated for row in rows] == [True, False, False, False]
    assert {job.specification.processor_speed for job in broker.jobs.values()} == {60}


def test_what_an_interrupted_reproduction_lacks_is_run_when_it_is_resumed(testbed, broker, tmp_path):
    broker.more_results = as_on_das2

    def failing(job) -> None:
        if job.id > 8:
            broker.append(EventKind.FAILED, 1.0, job.model_copy(update={"state": JobState.FAILED, "reason": "Lost."}))
        else:
            broker.finish(job)

    broker.on_submit = failing
    chosen = reproduction_of(grids=(100, 400))
    with pytest.raises(RunFailed):
        reproduce(testbed, chosen, tmp_path / "run", silent)
    broker.on_submit = broker.finish
    done = len(broker.jobs)
    whole = resume_reproduction(testbed, tmp_path / "run", silent)
    assert len(broker.jobs) - done == 8
    assert whole.reproduction == chosen
    assert len(reproduction_rows(whole)) == 8
    with pytest.raises(InvalidInput, match="holds no reproduction"):
        resume_reproduction(testbed, tmp_path, silent)


def test_a_cell_that_is_given_up_is_named_and_the_others_stand(testbed, broker, tmp_path):
    broker.more_results = as_on_das2

    def failing(job) -> None:
        if len(job.specification.components) == 4:
            broker.append(EventKind.FAILED, 1.0, job.model_copy(update={"state": JobState.FAILED, "reason": "Lost."}))
        else:
            broker.finish(job)

    broker.on_submit = failing
    found = reproduce(testbed, reproduction_of(), tmp_path / "run", silent)
    assert [row.setup for row in reproduction_rows(found)] == ["pbs-1", "globus-1", "globus-2"]
    assert len(found.failures) == 1
    assert "Lost" in found.failures[0]
    broker.on_submit = broker.finish
    whole = resume_reproduction(testbed, tmp_path / "run", silent)
    assert (len(reproduction_rows(whole)), whole.failures) == (4, ())


def test_the_penalty_of_several_clusters_vanishes_or_does_not(testbed, broker, tmp_path):
    factors = {100: 20.0, 400: 7.0, 4000: 1.06}

    def shrinking(job) -> dict[str, object]:
        factor = factors[job.specification.arguments["grid"]] if len(job.specification.components) > 1 else 1.0
        return {"iteration_s": factor, "runtime_s": factor * (1 + 0.001 * (job.id // 4 % 2))}

    broker.more_results = shrinking
    chosen = reproduction_of(grids=(100, 400, 4000))
    whole = reproduce(testbed, chosen, tmp_path / "one", silent)
    (claim,) = reproduction_claims(whole, reproduction_rows(whole))
    assert (claim.id, decide(claim).verdict.value, len(claim.parts)) == ("C26", "shown", 6)
    factors[4000] = 8.0
    whole = reproduce(testbed, chosen, tmp_path / "two", silent)
    (claim,) = reproduction_claims(whole, reproduction_rows(whole))
    assert decide(claim).verdict.value == "not shown"


def test_the_verb_prints_cells_errors_and_claims_and_leaves_rows_and_a_figure(testbed, broker, tmp_path, monkeypatch):
    @contextmanager
    def named(name):
        yield testbed

    monkeypatch.setattr("emulator.cli.reproduce.testbed_named", named)
    broker.more_results = as_on_das2
    words = ["reproduce", "poisson-runtimes", "--grid", "400", "--repeat", "2", "--dilation", "8"]
    said = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "run")], env={"COLUMNS": "220"})
    assert said.exit_code == 0, said.output
    assert "globus-4" in said.stdout
    assert "calibrated on" in said.stdout
    assert len(read_rows(tmp_path / "run", ReproductionRow)) == 4
    assert (tmp_path / "run" / "poisson-runtimes.png").read_bytes().startswith(b"\x89PNG")
    assert "| 400 | 16 | globus-4 |" in (tmp_path / "run" / "poisson-runtimes.md").read_text()
    resumed = ["reproduce", "poisson-runtimes", "--resume", str(tmp_path / "run"), "--json"]
    again = json.loads(CliRunner().invoke(app, resumed).stdout)
    assert [cell["setup"] for cell in again["cells"]] == list(ITERATION_S)
    assert len(broker.jobs) == 8
