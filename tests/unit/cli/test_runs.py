"""The verbs about runs and jobs: bad input is one sentence and a non-zero exit, and every help has an example."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from emulator.cli.main import main


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Runs the command as a user does, where no testbed stands; returns exit code, output and error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TESTBED_NAME", raising=False)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        written = capsys.readouterr()
        return code, written.out, written.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "verb",
    [["measure"], ["verify"], ["submit"], ["jobs"], ["cancel"], ["report"], ["campaign", "run"], ["campaign", "stop"]],
)
def test_every_help_has_an_example(verb, call):
    code, shown, _ = call(*verb, "--help")
    assert code == 0
    assert f"Example: testbed {' '.join(verb)}" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["campaign", "run", "nope"], "There is no campaign 'nope' (known: W1, W2, W30, W50, first)."),
        (["campaign", "run", "first", "--jobs", "0"], "campaign 'first': jobs: input should be greater than 0, not 0."),
        (["campaign", "run", "own.yaml"], "There is no campaign file 'own.yaml'."),
        (["measure", "--clusters", "1,two"], "--clusters: must be whole numbers joined by commas, not '1,two'."),
        (["measure"], "No testbed called 'testbed' stands (bring one up with `testbed up`)."),
        (["report", "."], ".: is no run's directory (it has no manifest.json)."),
        (["submit", "absent.yaml"], "absent.yaml: cannot be read (No such file or directory)."),
        (["submit", "bad.yaml"], "bad.yaml: unknown key 'sizes' (value [4])."),
        (["jobs"], "No testbed called 'testbed' stands (bring one up with `testbed up`)."),
    ],
)
def test_bad_input_is_one_sentence_on_stderr(arguments, sentence, call, tmp_path):
    (tmp_path / "bad.yaml").write_text("application: poisson\nsizes: [4]\ncomponents: [4]\n")
    assert call(*arguments) == (1, "", f"testbed: {sentence}\n")


def test_campaigns_are_listed_as_json(call):
    _, listed, _ = call("campaign", "list", "--json")
    assert "first" in [campaign["name"] for campaign in json.loads(listed)]
