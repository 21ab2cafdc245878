"""The jobs of the fault bench fit the topology, and their processes write one line each when they begin."""

from __future__ import annotations

import os
import random
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.job import JobKind
from tests.bench.faults.books import began_of
from tests.bench.faults.load import MARK, RAN, specification

MINI = topology_named("mini")
PROCESSORS = {cluster.name: cluster.processors for cluster in MINI.clusters}


@given(seed=st.integers(0, 2**32))
def test_every_job_that_is_drawn_fits_and_two_of_them_leave_room_for_others(seed):
    job = specification(random.Random(seed), PROCESSORS)
    assert job.request_in(MINI).processors <= MINI.processors // 4


@given(seed=st.integers(0, 2**32))
def test_every_process_of_a_plain_job_can_be_found_by_its_mark(seed):
    job = specification(random.Random(seed), PROCESSORS)
    assert job.kind is JobKind.MPI or job.command[-1] == MARK


def test_a_process_writes_down_that_it_began(tmp_path):
    drawn = (specification(random.Random(seed), PROCESSORS) for seed in range(100))
    command = list(next(job for job in drawn if job.kind is JobKind.PLAIN).command)
    (sleep,) = [part for part in command[2].split("; ") if part.startswith("sleep ")]
    command[2] = command[2].replace(sleep, "sleep 0")
    for process in ("0", "1"):
        environment = os.environ | {"HOME": str(tmp_path), "TESTBED_JOB": "0-17", "SLURM_PROCID": process}
        subprocess.run(command, env=environment, check=True)
    assert [each.process for each in began_of((tmp_path / RAN).read_text().splitlines(), "delft")] == [0, 1]
