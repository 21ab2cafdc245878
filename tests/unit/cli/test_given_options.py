"""Options that would have no effect are refused by their names, with what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from emulator.campaigns.live_sweep import begin_sweep, sweep_of
from emulator.cli.given_options import given_options, refuse_given
from emulator.model.errors import InvalidInput
from workloads.campaign import campaign_named

SPEED_VARIABLE = "TESTBED_TEST_SPEED"


def refusal(*arguments: str, instead: str = "", env: dict[str, str] | None = None) -> str | None:
    """What a command says that refuses all that is given; None if it refuses nothing."""
    app = typer.Typer()

    @app.command()
    def verb(
        context: typer.Context,
        source: Annotated[str, typer.Argument()] = "",
        grid_points: Annotated[int, typer.Option()] = 400,
        called: Annotated[str, typer.Option("--as")] = "",
        speed: Annotated[float, typer.Option(envvar=SPEED_VARIABLE)] = 1.0,
    ) -> None:
        refuse_given(context, {"source", "grid_points", "called", "speed"}, "nothing reads this", instead=instead)

    failure = CliRunner().invoke(app, list(arguments), env=env).exception
    assert failure is None or isinstance(failure, InvalidInput)
    return None if failure is None else str(failure)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--as", "mine"), "--as: nothing reads this; leave it out."),
        (("--grid-points", "400"), "--grid-points: nothing reads this; leave it out."),
        (("--grid-points", "9", "--as", "mine"), "--as, --grid-points: nothing reads this; leave them out."),
        (("das2",), "SOURCE: nothing reads this; leave it out."),
        ((), None),
    ],
)
def test_what_is_given_is_named_as_it_is_typed_even_if_it_is_the_default(
    arguments: tuple[str, ...], sentence: str | None
) -> None:
    assert refusal(*arguments) == sentence


def test_what_can_be_done_instead_is_said() -> None:
    assert refusal("--as", "mine", instead="name a RUN") == "--as: nothing reads this; name a RUN, or leave it out."


def test_a_variable_is_not_given() -> None:
    assert refusal(env={SPEED_VARIABLE: "2"}) is None


def test_what_is_given_is_known_by_its_parameter() -> None:
    found: list[set[str]] = []
    app = typer.Typer()

    @app.command()
    def verb(context: typer.Context, called: Annotated[str, typer.Option("--as")] = "", count: int = 1) -> None:
        found.append(given_options(context))

    CliRunner().invoke(app, ["--as", "mine"])
    assert found == [{"called"}]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("monitor", "--stop", "--grafana", "--json"), "--grafana, --json: with --stop nothing is started; leave them"),
        (
            ("reproduce", "poisson-runtimes", "--resume", "begun", "--out", "other"),
            "--out: what --resume runs goes into its own directory; leave it out.",
        ),
        (
            ("measure", "--topology", "mini"),
            "--topology: a testbed has the topology that it was brought up with; state --dry-run, or leave it out.",
        ),
        (("campaign", "resume", "begun", "--repeat-void", "0"), "--repeat-void: a sweep goes on as it began; leave it"),
    ],
)
def test_verbs_refuse_what_would_have_no_effect(
    call, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    begin_sweep(tmp_path / "begun", sweep_of(campaign_named("first"), ["wf"], [1]))
    code, shown, said = call(*arguments)
    assert (code, shown) == (1, "")
    assert said.startswith(f"testbed: {sentence}")
    assert said.count("\n") == 1
