"""``testbed calibrate`` where the overhead is known, so that no testbed is needed."""

from __future__ import annotations

import json
from functools import partial

import pytest

from emulator.model.documents import read_document
from emulator.model.processor import Processor
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

EXAMPLE = ("--app", "poisson", "--grid", "400", "--processors", "16", "--iteration-s", "0.001298")


@pytest.fixture
def calibrate(call):
    """Runs ``testbed calibrate`` where no testbed runs; returns exit code, output and error output."""
    return partial(call, "calibrate")


def test_a_known_iteration_gives_the_cost_of_a_point(calibrate):
    code, shown, _ = calibrate(*EXAMPLE, "--overhead-s", "0.000148", "--json")
    assert code == 0
    (row,) = json.loads(shown)
    assert (row["key"], row["after"]) == ("in_cache_ns_per_point", 115.0)
    assert row["compute_s"] == pytest.approx(0.00115)
    assert row["profile"]["name"] == "das2-pentium3"


def test_without_json_the_profile_is_shown_as_a_document(calibrate):
    code, shown, _ = calibrate(*EXAMPLE, "--overhead-s", "0.000148")
    assert code == 0
    assert "in_cache_ns_per_point: 115" in shown
    assert "overhead    --overhead-s" in shown


def test_a_runtime_over_iterations_is_the_same(calibrate):
    arguments = ("--grid", "400", "--runtime-s", "4.95", "--iterations", "3814", "--overhead-s", "0", "--json")
    assert json.loads(calibrate(*arguments)[1])[0]["after"] == pytest.approx(129.8)


def test_a_published_runtime_is_looked_up(calibrate):
    arguments = ("--grid", "4000", "--processors", "16", "--from-published", "--overhead-s", "0.0021", "--json")
    (row,) = json.loads(calibrate(*arguments)[1])
    assert (row["key"], row["after"]) == ("out_of_cache_ns_per_point", 264.9)
    assert "Table 3" in row["source"]


def test_the_published_ensemble_gives_a_weight(calibrate):
    arguments = ("--app", "ensflow", "--grid", "64", "--processors", "12", "--from-published", "--overhead-s", "0")
    (row,) = json.loads(calibrate(*arguments, "--json")[1])
    assert row["key"] == "weights.ensflow"
    assert row["iteration_s"] == pytest.approx(3485 / 20)
    assert row["profile"]["weights"]["ensflow"] == row["after"] > 0


def test_it_is_written_into_a_topology_and_into_a_profile_of_its_own(calibrate, tmp_path):
    topology, profile = tmp_path / "mine.yaml", tmp_path / "laptop.yaml"
    topology.write_text((PROJECT_ROOT / "compose" / "mini.yaml").read_text())
    code, _, said = calibrate(*EXAMPLE, "--overhead-s", "0.0002", "--into", str(topology))
    assert code == 0
    assert "Written: das2-unweighted-calibrated in" in said
    written = read_document(topology, Topology).processor
    assert (written.in_cache_ns_per_point, written.out_of_cache_ns_per_point) == (109.8, 265.5)
    assert calibrate(*EXAMPLE, "--overhead-s", "0.0002", "--into", str(profile), "--as", "laptop")[0] == 0
    assert read_document(profile, Processor).name == "laptop"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (EXAMPLE, "No testbed called 'testbed' is running (bring one up with `testbed up`): it would measure what of"),
        ((*EXAMPLE, "--overhead-s", "0.002"), "leaves nothing for computation, since 0.002 s of it are not"),
        ((*EXAMPLE, "--overhead-s", "0", "--dilation", "8"), "--dilation: with --overhead-s nothing is measured"),
        ((*EXAMPLE, "--overhead-s", "nan"), "An iteration's overhead is zero or more seconds, not nan"),
        (("--iteration-s", "-1", "--overhead-s", "0"), "positive number of seconds, not -1"),
        (("--overhead-s", "0"), "Say one of --iteration-s, --runtime-s, --from-published, --from-host and --table."),
        ((*EXAMPLE, "--from-published"), "Say one of --iteration-s"),
        (("--runtime-s", "5"), "--runtime-s and --iterations go together: the seconds that a run took,"),
        (("--runtime-s", "5", "--iterations", "0", "--overhead-s", "0"), "--iterations: must be at least 1, not 0"),
        (("--grid", "300", "--from-published"), "There is no published runtime of 'poisson grid 300 on 16 processors'"),
        (("--grid", "0", "--iteration-s", "1"), "calibrate: grid: must be greater than 0, not 0"),
        (("--app", "laplace", "--processors", "8", "--iteration-s", "1", "--overhead-s", "0"), "square process grid"),
        (("--app", "quake", "--iteration-s", "1", "--overhead-s", "0"), "application with work by grid points 'quake'"),
        ((*EXAMPLE, "--overhead-s", "0", "--profile", "native"), "'native' is unpaced and has no costs to calibrate"),
        ((*EXAMPLE, "--overhead-s", "0", "--profile", "pdp11"), "There is no processor profile 'pdp11'"),
        ((*EXAMPLE, "--overhead-s", "0", "--as", "My Laptop"), "'My Laptop' is no name of a profile"),
        (("--from-host", "--overhead-s", "0"), "--overhead-s: with --from-host only kernels are compared"),
        (
            (*EXAMPLE, "--overhead-s", "0", "--into", "absent/p.yaml"),
            "absent/p.yaml: cannot be written (there is no folder",
        ),
        (("--from-host",), "No testbed called 'testbed' is running"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(calibrate, arguments, sentence):
    code, shown, said = calibrate(*arguments)
    assert code == 1
    assert shown == ""
    assert sentence in said
    assert said.count("\n") == 1
