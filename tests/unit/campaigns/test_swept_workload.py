"""What a sweep of simulations reads: a change of any of it gives other cases, and a record holds all of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.simulation_sweep import SimulationSweep
from emulator.campaigns.swept_workload import SweptWorkload, inputs_of
from emulator.model.project import CAMPAIGNS, TOPOLOGIES

TABLE = "application,processors,clusters,extension_factor,verdict\nlaplace,36,2,1.5,valid\n"


def digest(workload: str | Path, **options: Any) -> str:
    """The digest of what simulations of a workload under its own policy and queue read."""
    return inputs_of(SweptWorkload(str(workload), **options), (None, None)).digest


def test_a_changed_file_gives_other_inputs(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    digests = []
    for service_s in (3, 5, 3):
        line = {"id": 1, "arrival_s": 2, "service_s": service_s, "components": [4], "queue": 0}
        jobs.write_text(json.dumps(line) + "\n")
        digests.append(digest(jobs))
    assert digests[0] == digests[2] != digests[1]


def test_a_campaigns_own_policy_and_topology_count_among_the_files_that_may_change(tmp_path):
    """They stand in files beside the campaign's, which stays as it is."""
    campaign, policy, topology = tmp_path / "mine.yaml", tmp_path / "mine.py", tmp_path / "two.yaml"
    text = (CAMPAIGNS / "W2.yaml").read_text().replace("topology: das2-2006", f"topology: {topology}")
    campaign.write_text(text.replace("policy: wf", f"policy: {policy}:Mine"))
    source, system = "class Mine: pass\n", (TOPOLOGIES / "das2-2006.yaml").read_text()
    digests = []
    for last_line, nodes in (("", "67"), ("# changed", "67"), ("# changed", "66")):
        policy.write_text(source + last_line)
        topology.write_text(system.replace("nodes: 67", f"nodes: {nodes}"))
        digests.append(digest(campaign))
    assert len(set(digests)) == 3


def test_a_log_of_local_jobs_counts_among_the_files_that_may_change(tmp_path):
    campaign, log = tmp_path / "mine.yaml", tmp_path / "local.swf"
    text = (CAMPAIGNS / "W1.yaml").read_text()
    assert "local_jobs: none" in text
    campaign.write_text(text.replace("local_jobs: none", f"local_jobs: {log}"))
    digests = []
    for length in (100, 200):
        log.write_text(f"1 0 -1 {length} 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
        digests.append(digest(campaign))
    assert digests[0] != digests[1]


def test_a_campaign_s_job_list_counts_among_the_files_that_may_change(tmp_path):
    campaign, jobs = tmp_path / "mine.yaml", tmp_path / "jobs.jsonl"
    campaign.write_text("name: mine\ntopology: mini\njob_list: jobs.jsonl\napplication: poisson\n")
    digests = []
    for service_s in (10, 20):
        jobs.write_text(f'{{"id": 1, "arrival_s": 0, "service_s": {service_s}, "components": [4]}}\n')
        digests.append(digest(campaign))
    assert digests[0] != digests[1]


def test_every_table_of_factors_counts_among_the_files_that_may_change(tmp_path):
    tables = tmp_path / "laplace.csv", tmp_path / "heat.csv"
    digests = []
    for factor in ("1.5", "1.6"):
        tables[0].write_text(TABLE)
        tables[1].write_text(TABLE.replace("laplace", "heat").replace("1.5", factor))
        digests.append(digest("W2", factors=tuple(map(str, tables))))
    assert digests[0] != digests[1]


@pytest.mark.parametrize("named", [("theirs", None), (None, "theirs")])
def test_the_module_and_the_version_of_an_installed_policy_count_among_what_may_change(installed, named):
    module = installed("their_module:Theirs", "class Theirs: pass\n")
    found = [inputs_of(SweptWorkload("W2"), named)]
    module.write_text("class Theirs: pass\n# changed\n")
    found.append(inputs_of(SweptWorkload("W2"), named))
    information = module.parent / "their_policies-1.0.dist-info" / "METADATA"
    information.write_text(information.read_text().replace("1.0", "1.1"))
    found.append(inputs_of(SweptWorkload("W2"), named))
    assert len({each.digest for each in found}) == 3
    assert [each.record()["packages"] for each in found] == [
        {"their-policies": "1.0"}, {"their-policies": "1.0"}, {"their-policies": "1.1"}
    ]  # fmt: skip
    assert [file["name"] for file in found[0].record()["files"]] == ["W2.yaml", "their_module.py"]


def test_a_changed_default_topology_gives_other_inputs(tmp_path, monkeypatch):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"id": 1, "arrival_s": 1, "service_s": 2, "components": [2], "queue": 0}\n')
    before = digest(jobs)
    monkeypatch.setattr("emulator.campaigns.swept_workload.DEFAULT_TOPOLOGY", "das2")
    assert digest(jobs) != before


def test_a_record_holds_all_that_a_sweep_was_made_from(tmp_path):
    campaign, policy, table = tmp_path / "mine.yaml", tmp_path / "mine.py", tmp_path / "factors.csv"
    texts = {campaign: (CAMPAIGNS / "W2.yaml").read_text(), policy: "class Mine: pass\n", table: TABLE}
    for file, text in texts.items():
        file.write_text(text)
    swept = SweptWorkload(str(campaign), jobs=5, factors=(str(table),))
    asked = SimulationSweep(swept, ("wf", f"{policy}:Mine"), (None,), (None,), 2)
    record = json.loads(json.dumps(asked.record()))
    case = asked.cases()[0]
    assert (record["inputs"], record["outcomes"]) == (case.inputs, json.loads(case.key)["outcomes"])
    written = {file.name: text for file, text in texts.items()}
    assert {file["name"]: file["text"] for file in record["files"]} == written
    assert record["topology"]["name"] == "das2-2006"
    assert {"python", "numpy"} <= record["versions"].keys()
    assert record["options"] == {
        "workload": str(campaign), "jobs": 5, "factors": [str(table)], "warm_up_jobs": 0,
        "policies": ["wf", f"{policy}:Mine"], "seeds": 2,
    }  # fmt: skip


def test_a_long_file_and_one_that_is_no_text_are_recorded_by_their_digests(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.campaigns.swept_workload.MOST_TEXT_BYTES", 20)
    for name, content in (("long.jsonl", b"x" * 21), ("odd.jsonl", b"\xff")):
        (tmp_path / name).write_bytes(content)
        (file,) = inputs_of(SweptWorkload(str(tmp_path / name)), ()).record()["files"]
        assert file == {
            "name": name, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "text": None,
        }  # fmt: skip


@pytest.mark.parametrize(("workload", "is_stream"), [("50-25-25-0", True), ("W2", False)])
def test_the_load_of_a_studys_stream_is_an_option_of_its_simulations(workload, is_stream):
    swept = SweptWorkload(workload, factors=("1.25",))
    assert swept.is_stream is is_stream
    options = swept.options("wf", "gs", 0.7, 3)
    assert (options.load, options.runtime, options.seed) == (0.7 if is_stream else None, 1.25, 3)
