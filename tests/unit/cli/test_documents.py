"""Documents on the command line: their schemas, and what `validate` says of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from emulator.cli.document_kinds import KINDS, schema_text
from emulator.cli.schema import SchemaName
from emulator.model.project import CAMPAIGNS, PROCESSORS, PROJECT_ROOT, TOPOLOGIES
from tests.unit.workloads.seed_lists import campaign_with_lists, write_list
from workloads.campaign import campaign_named, refuse_sources

SCHEMAS = PROJECT_ROOT / "docs" / "schemas"
KEPT_IN = {
    TOPOLOGIES: "topology",
    PROCESSORS: "processor",
    CAMPAIGNS: "campaign",
    PROJECT_ROOT / "tests" / "live": "topology",
}
KINDS_NAMED = "topology, a campaign, a job, a processor profile or a hosts inventory"
SHIPPED = [(path, kind) for folder, kind in KEPT_IN.items() for path in sorted(folder.glob("*.yaml"))]


def test_every_kind_has_a_schema():
    assert [name.value for name in SchemaName] == list(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_the_schemas_for_editors_are_up_to_date(name):
    kept = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert kept == schema_text(name), f"write it anew: testbed schema {name} > docs/schemas/{name}.json"


@pytest.mark.parametrize(("path", "kind"), SHIPPED, ids=lambda value: getattr(value, "name", value))
def test_every_document_names_its_schema_and_agrees_with_it(path: Path, kind: str):
    text = path.read_text(encoding="utf-8")
    expected = os.path.relpath(SCHEMAS / f"{kind}.json", path.parent)
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={expected}"
    content = json.loads(json.dumps(yaml.safe_load(text)))
    assert [str(error) for error in jsonschema_rs.validator_for(KINDS[kind].schema()).iter_errors(content)] == []


def test_a_schema_says_what_its_values_mean_and_hides_what_no_file_states(call):
    code, printed, _ = call("schema", "Job")
    schema = json.loads(printed)
    assert code == 0
    assert schema["$defs"]["RequestKind"]["description"].startswith("The kind of a request")
    assert "sources" not in json.loads(schema_text("campaign"))["properties"]
    assert call("submit", "--schema") == (0, printed, "")


def test_a_campaign_file_may_state_every_key_in_its_schema():
    first = campaign_named("first")
    for key in json.loads(schema_text("campaign"))["properties"]:
        refuse_sources(first.model_copy(update={key: "stated"}), Path("first.yaml"))


@pytest.mark.parametrize(("path", "kind"), SHIPPED, ids=lambda value: getattr(value, "name", value))
def test_every_shipped_document_is_valid_and_of_its_kind(path, kind, call):
    code, printed, _ = call("validate", str(path), "--json")
    assert (code, json.loads(printed)) == (0, {"file": str(path), "kind": kind, "valid": True, "faults": []})


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "name: mine\nprocessor: nativ\nclusters: []\nlink: 3\n",
            ["processor: there is no processor profile 'nativ' (known: cisne-", "clusters: must have at least 1",
             "unknown key 'link' (value 3)."],
        ),
        (
            "name: mine\nprocessor: native\nclusters: [{name: wan, nodes: 1, access_link: {up_mbit: 1, down_mbit: 1}}]",
            ["A cluster cannot be called 'wan'"],
        ),
        ("components: [8, 0]\napplication: poisson", ["components.1: must be greater than 0, not 0."]),
        ("components: [8]\napplication: quake", ["There is no application 'quake' (known: poisson,"]),
        (
            "components: [8]\napplication: heat\narguments: {tolerance: 0}",
            ["arguments.tolerance: heat has no such argument (known: amplitude, distributed-share, edges, exchange, "],
        ),
        (
            "name: c\ntopology: mini\njobs: 2\ninterarrival: {mean_s: 1}\napplication: heat\n"
            "arguments: {grid: 100, steps: 9, tolerance: 0}\ncomponent_counts: [1]\ncomponent_sizes: [4]",
            ["campaign 'c': arguments.tolerance: heat has no such argument"],
        ),
        (
            "name: c\ntopology: mimi\njobs: 2\ninterarrival: {mean_s: 1}\napplication: poisson\n"
            "component_counts: [1]\ncomponent_sizes: [4]",
            ["There is no topology 'mimi' (known: cisne, cisne-four, cisne-shared, das2, "],
        ),
        (
            "name: c\ntopology: mini\njobs: 2\ninterarrival: {mean_s: 1}\napplication: poisson\n"
            "component_counts: [1]\ncomponent_sizes: [64]",
            ["Job '"],
        ),
    ],
)  # fmt: skip
def test_each_fault_is_a_line_with_the_path_of_its_key(text, faults, call, tmp_path):
    (tmp_path / "a.yaml").write_text(text)
    code, printed, said = call("validate", "a.yaml")
    lines = printed.splitlines()
    assert (code, said, len(lines)) == (1, "", len(faults))
    for line, fault in zip(lines, faults, strict=True):
        assert line.startswith(f"a.yaml: {fault}")


def test_the_list_of_every_seed_is_checked(call, tmp_path):
    campaign_with_lists(tmp_path, (1, 3))
    assert call("validate", "mine.yaml") == (0, "mine.yaml: a valid campaign.\n", "")
    write_list(tmp_path / "jobs-3.jsonl", jobs=2, service_s=-5.0)
    code, printed, _ = call("validate", "mine.yaml")
    assert (code, printed.count("\n")) == (1, 1)
    assert "jobs-3.jsonl, line 1: service_s: must be" in printed
    for seed in (1, 3):
        (tmp_path / f"jobs-{seed}.jsonl").unlink()
    assert "jobs-0.jsonl: cannot be read" in call("validate", "mine.yaml")[1]


def test_a_job_is_checked_on_the_topology_that_is_named(call, tmp_path):
    (tmp_path / "job.yaml").write_text("application: poisson\ncomponents: [32]\n")
    assert call("validate", "job.yaml") == (0, "job.yaml: a valid job.\n", "")
    code, printed, _ = call("validate", "job.yaml", "--topology", "Mini")
    assert (code, printed) == (
        1, "job.yaml: Job 'job' has a component of 32 processors, but the largest cluster of 'mini' has 16.\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f"a.yaml: is empty, but needs the keys of a {KINDS_NAMED}"),
        ("[1, 2]", "a.yaml: holds [1, 2], but needs the keys of a topology, a campaign, a job"),
        ("colour: red", f"a.yaml: none of its keys is one of a {KINDS_NAMED}"),
        ("a: [", "a.yaml: not valid YAML: "),
        ("1: 2", "a.yaml: none of its keys is one of a topology"),
    ],
)
def test_what_is_no_document_is_one_sentence(text, sentence, call, tmp_path):
    (tmp_path / "a.yaml").write_text(text)
    code, printed, said = call("validate", "a.yaml")
    assert (code, printed) == (1, "")
    assert said.startswith(f"testbed: {sentence}")
    assert len(said.splitlines()) == 1
