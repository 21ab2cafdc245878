"""The option ``--require``: how bad a verdict may be before the command exits with code 3."""

from __future__ import annotations

import pytest

from emulator.cli import main as command
from emulator.cli.exit_codes import EXIT_CODES
from emulator.cli.required_verdict import check_required
from emulator.fidelity.verdict import Judgement
from emulator.model.errors import VerdictTooLow

VALID, SUSPECT, VOID = Judgement


@pytest.mark.parametrize(
    ("required", "found"),
    [(VALID, [VALID]), (SUSPECT, [VALID, SUSPECT]), (VOID, [VOID]), (VALID, [])],
)
def test_what_is_no_worse_than_required_passes(required, found):
    check_required(required, found)


@pytest.mark.parametrize(
    ("required", "found", "worst"), [(VALID, [VALID, SUSPECT], SUSPECT), (SUSPECT, ["valid", "void"], VOID)]
)
def test_the_worst_verdict_counts_and_the_sentence_names_it_with_the_remedy(required, found, worst):
    with pytest.raises(VerdictTooLow, match=f"verdict is {worst}, and {required} was required.*`--require {worst}`"):
        check_required(required, found)


def test_a_verdict_that_is_too_low_ends_the_command_with_code_3(monkeypatch, capsys):
    def refuse() -> None:
        raise VerdictTooLow("The verdict is void.")

    monkeypatch.setattr(command, "app", refuse)
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 3
    assert capsys.readouterr().err == "testbed: The verdict is void.\n"


def test_the_help_names_every_exit_code(call):
    _, shown, _ = call("--help")
    assert EXIT_CODES in " ".join(shown.split())


def test_the_choices_are_shown_and_case_does_not_count(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    for verb in (["measure"], ["campaign", "run"], ["reproduce"]):
        _, shown, _ = call(*verb, "--help")
        assert "<valid|suspect|void>" in shown
    code, _, said = call("measure", "--require", "VALID")
    assert (code, said) == (1, "testbed: No testbed called 'testbed' is running (bring one up with `testbed up`).\n")
    assert call("measure", "--require", "good")[0] == 2
