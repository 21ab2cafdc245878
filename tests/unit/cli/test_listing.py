"""What can be typed: the names that come with the testbed, the version, and what a shell offers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from apps.registry import APPLICATIONS
from emulator.model.project import CAMPAIGNS, PROCESSORS, PROJECT_ROOT, TOPOLOGIES, names_in
from emulator.policies.names import NODE_POLICIES, NODE_QUEUES, POLICIES, QUEUES

LISTED = {
    "policies": [*POLICIES, *NODE_POLICIES],
    "queues": [*QUEUES, *NODE_QUEUES],
    "topologies": names_in(TOPOLOGIES),
    "campaigns": names_in(CAMPAIGNS),
    "applications": list(APPLICATIONS),
    "processors": names_in(PROCESSORS),
}


@pytest.mark.parametrize(("kind", "names"), LISTED.items())
def test_each_kind_is_listed_with_a_line_about_each_name(kind, names, call):
    code, printed, _ = call("list", kind.upper(), "--json")
    rows = json.loads(printed)
    assert (code, [row["name"] for row in rows]) == (0, names)
    assert all(row["description"] and "\n" not in row["description"] for row in rows)


def test_everything_is_listed_by_kind(call):
    rows = json.loads(call("list", "--json")[1])
    assert [row["kind"] for row in rows] == [kind for kind, names in LISTED.items() for _ in names]
    assert call("list", "things")[0] == 2


def test_the_version_is_that_of_the_package(call):
    code, printed, _ = call("--version")
    assert (code, printed.split()[0]) == (0, "testbed")
    assert f'version = "{printed.split()[1]}"' in (PROJECT_ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("campaign", "topology"), [("W1", "das2-2006"), ("w30", "das2"), ("first", "mini")]
)  # fmt: skip
def test_a_campaign_says_its_topology(campaign, topology, call):
    assert call("campaign", "topology", campaign) == (0, f"{topology}\n", "")


def offered(words: str, folder) -> list[str]:
    """What bash is offered after `words`, the last of which is incomplete."""
    script = "import sys; sys.argv[0] = 'testbed'; from emulator.cli.main import main; main()"
    environment = os.environ | {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TESTBED_COMPLETE": "complete_bash",
        "PYTHONPATH": str(PROJECT_ROOT),
    }
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def test_a_shell_is_offered_verbs_options_and_names(tmp_path):
    for folder in ("runs/first-1", "runs/first-2", "runs/other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "manifest.json").touch()
    (tmp_path / "ours.yaml").touch()
    (tmp_path / "mine.py").touch()
    for words, names in (
        ("testbed val", ["validate"]),
        ("testbed list q", ["queues"]),
        ("testbed simulate --pol", ["--policy"]),
        ("testbed simulate --policy w", ["wf", "wf-distinct"]),
        ("testbed simulate --policy m", ["mine.py"]),
        ("testbed simulate --queue ls-d", ["ls-do"]),
        ("testbed simulate W", ["W1", "W2", "W30", "W50"]),
        ("testbed validate job.yaml --topology das2-", ["das2-2003", "das2-2003-single", "das2-2006"]),
        ("testbed validate o", ["ours.yaml"]),
        ("testbed replay runs/f", ["runs/first-1", "runs/first-2"]),
    ):
        assert offered(words, tmp_path) == names, words


def test_what_a_shell_waits_for_imports_no_more_than_names():
    script = (
        "import sys; from emulator.cli import completion as c\n"
        "c.policies(''), c.queues(''), c.topologies(''), c.campaigns(''), c.runs('')\n"
        "print(*sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert not set(found.stdout.split()) & {"docker", "numpy", "pydantic", "yaml", "typer"}
