"""The verbs about runs and jobs: bad input is one sentence and a non-zero exit, and every help has an example."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.core import TyperGroup

from emulator.cli.verbs import VERBS, load_verb

DRAWN = "jobs: 2\ninterarrival: {mean_s: 5}\ncomponent_counts: [1]\ncomponent_sizes: [4]\n"
UNUSED = "Campaign 'own': execution times are for simulations only: the program says how long it runs.\n"


def verbs(command, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every verb below `command`."""
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from verbs(below, *words, name)
    else:
        yield words


@pytest.mark.parametrize("verb", [words for name in VERBS for words in verbs(load_verb(name), name)], ids=" ".join)
def test_every_help_has_an_example(verb, call):
    code, shown, _ = call(*verb, "--help")
    assert code == 0
    assert f"Example: testbed {' '.join(verb)}" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["campaign", "run", "nope"], "There is no campaign 'nope' (known: DIT, SIT, W1, W2, W30, W50, first)."),
        (["up", "das2"], "`up` takes its topology as an option: `testbed up --topology das2`."),
        (["campaign", "run", "first", "--jobs", "0"], "campaign 'first': jobs: must be greater than 0, not 0."),
        (
            ["campaign", "run", "first", "--tries-threshold", "0"],
            "campaign 'first': tries_threshold: must be greater than 0, not 0.",
        ),
        (
            ["campaign", "run", "first", "--scan-interval", "0"],
            "campaign 'first': scan_interval_s: must be greater than or equal to 0.000001, not 0.0.",
        ),
        (
            ["campaign", "run", "first", "--quota", "0"],
            "campaign 'first': quota: must be greater than 0, not 0.0.",
        ),
        (
            ["campaign", "run", "first", "--quota", "1.5"],
            "campaign 'first': quota: must be less than or equal to 1, not 1.5.",
        ),
        (
            ["campaign", "run", "first", "--quota", "nan"],
            "campaign 'first': quota: must be a finite number, not nan.",
        ),
        (
            ["campaign", "run", "first", "--policy", "none.py:Mine"],
            "There is no policy file 'none.py' (No such file or directory).",
        ),
        (["campaign", "run", "own.yaml"], "There is no campaign file 'own.yaml'."),
        (["measure", "--clusters", "1,two"], "--clusters: must be whole numbers joined by commas, not '1,two'."),
        (["measure"], "No testbed called 'testbed' is running (bring one up with `testbed up`)."),
        (["report", "."], ".: is no run's directory (it has no manifest.json)."),
        (["submit", "absent.yaml"], "absent.yaml: cannot be read (No such file or directory)."),
        (["submit", "bad.yaml"], "bad.yaml: unknown key 'sizes' (value [4])."),
        (["jobs"], "No testbed called 'testbed' is running (bring one up with `testbed up`)."),
    ],
)
def test_bad_input_is_one_sentence_on_stderr(arguments, sentence, call, tmp_path):
    (tmp_path / "bad.yaml").write_text("application: poisson\nsizes: [4]\ncomponents: [4]\n")
    assert call(*arguments) == (1, "", f"testbed: {sentence}\n")


def test_campaigns_are_listed_as_json_by_the_names_that_run_knows(call):
    _, listed, _ = call("campaign", "list", "--json")
    names = [campaign["name"] for campaign in json.loads(listed)]
    assert names == ["DIT", "SIT", "W1", "W2", "W30", "W50", "first"]
    for name in names:
        assert call("campaign", "run", name)[2].startswith("testbed: No testbed called 'testbed' is running")


@pytest.mark.parametrize("verb", ["run", "sweep"])
@pytest.mark.parametrize(
    ("jobs", "line"),
    [(DRAWN, ""), (f"{DRAWN}service_s: {{low_s: 6, high_s: 9}}\n", UNUSED), ("job_list: jobs.jsonl\n", UNUSED)],
    ids=["no times", "drawn times", "listed times"],
)
def test_stated_times_of_a_program_of_ones_own_are_said_to_be_for_simulations_only(verb, jobs, line, call, tmp_path):
    (tmp_path / "jobs.jsonl").write_text('{"id": 1, "arrival_s": 0, "service_s": 9, "components": [4]}\n')
    (tmp_path / "own.yaml").write_text(f"name: own\ntopology: mini\ncommand: [heat]\n{jobs}")
    assert call("campaign", verb, "own.yaml")[2].startswith(f"{line}testbed: No testbed called 'testbed' is running")
