"""A researcher's own code has a process of its own: whatever it does ends its run in a sentence, never the broker."""

from __future__ import annotations

import os

import pytest

from emulator.broker.policy_process import PolicyProcess
from emulator.broker.policy_worker import POLICY_USER
from emulator.model.errors import InvalidInput, PolicyFailed
from emulator.model.job import JobState
from emulator.model.views import RunRequest
from emulator.policies.factory import deciders
from emulator.policies.replay import replay
from tests.unit.broker.broker_setup import (
    BrokerSetup,
    begin_fast_run,
    finish_all,
    kill,
    recorded_decisions,
    recorded_request,
)
from tests.unit.broker.own_policies import BEST_FIT, SMALLEST_FIRST, deciding, placing

NAME = "mine.py:Mine"
OWN_POLICY = {"policy": NAME}
OWN_QUEUE = {"queue": NAME, "policy": "wf"}
PROCESS = "emulator.broker.deciding.PolicyProcess"


def under(setup: BrokerSetup, source: str, **stated) -> int:
    return begin_fast_run(setup, sources={"mine.py": source}, **stated)


def reason_of_second_job(setup: BrokerSetup, run: int) -> str:
    """Submit two jobs; the source misbehaves when it is asked about the second."""
    setup.submit(2, run=run)
    later = setup.submit(2, run=run)
    setup.until_state(later, JobState.FAILED)
    reason = setup.broker.job(later).reason
    assert "\n" not in reason
    return reason


@pytest.mark.parametrize(
    ("source", "stated", "sentence"),
    [
        (placing("import os; os._exit(3)"), OWN_POLICY, "its process ended (exit code 3) during a decision"),
        (placing("import os; os.kill(os.getpid(), 11)"), OWN_POLICY, "its process ended (SIGSEGV) during a decision"),
        (placing("import os; os.fork()"), OWN_POLICY, "place raised BlockingIOError"),
        (placing("return bytearray(3 * 1024**3)"), OWN_POLICY, "place raised MemoryError"),
        (
            deciding(decide="return [Reject(event.job.id, 'x' * 20_000_000)]"),
            OWN_QUEUE,
            "its answer has more than 16 MiB",
        ),
        (
            placing("import os; [os.write(fd, b'[1]\\n') for fd in range(9) if os.path.realpath"
                    "(f'/proc/self/fd/{fd}').split('/')[-1].startswith('socket')]"),
            OWN_POLICY,
            "its answer cannot be used (TypeError: it is no object)",
        ),
        (placing("raise ValueError('\\x1b[31m' + 'x' * 5000)"), OWN_POLICY, "place raised ValueError"),
        (
            placing("return Placement((Component(0, 2),), transfer_s=-1.0)"),
            OWN_POLICY,
            "a transfer takes at least 0 s, not -1.0",
        ),
        (
            deciding(decide="return [Reject(event.job.id, chr(0xD800), 1)]"),
            OWN_QUEUE,
            "its answer cannot be used (ValueError: ",
        ),
    ],
)  # fmt: skip
def test_whatever_a_policy_does_ends_its_run_in_one_sentence(setup, source, stated, sentence):
    run = under(setup, source, **stated)
    reason = reason_of_second_job(setup, run)
    assert sentence in reason
    assert reason.isprintable()
    setup.broker.end_run(run)
    after = begin_fast_run(setup)
    finish_all(setup, [setup.submit(4, run=after)])


@pytest.mark.parametrize(
    ("host_s_per_cpu_s", "body", "sentence"),
    [
        (600.0, "while True: pass", "a decision took more than 3 s of CPU, so its process was"),
        (0.5, "import time; time.sleep(600)", "a decision took more than 1.5 s, so its process was"),
    ],
)
def test_a_decision_that_takes_too_long_ends_its_run(setup, monkeypatch, host_s_per_cpu_s, body, sentence):
    run = under(setup, placing(body), **OWN_POLICY, decision_limit_cpu_s=3.0)
    setup.submit(2, run=run)
    setup.until(lambda: recorded_decisions(setup, run))
    monkeypatch.setattr("emulator.broker.policy_process.HOST_S_PER_CPU_S", host_s_per_cpu_s)
    assert reason_of_second_job(setup, run) == f"{NAME}: {sentence} ended."
    assert setup.broker.queue() == []


def test_a_source_that_never_ends_loading_begins_no_run(setup):
    with pytest.raises(PolicyFailed, match=r"loading it took more than 0\.3 s of CPU"):
        under(setup, "while True: pass", **OWN_POLICY, decision_limit_cpu_s=0.3)
    assert setup.broker.current_run() is None


def test_a_description_that_states_no_traits_begins_no_run(setup):
    forged = (
        "import os\n"
        "for fd in range(9):\n"
        "    if os.path.realpath(f'/proc/self/fd/{fd}').split('/')[-1].startswith('socket'):\n"
        "        os.write(fd, b'{\"traits\": 3}\\n')\n"
    )
    with pytest.raises(PolicyFailed, match=r"its answer cannot be used \(AttributeError: .*\), so its process was"):
        under(setup, forged + BEST_FIT, **OWN_POLICY)
    assert setup.broker.current_run() is None


def test_what_a_policy_prints_is_no_answer(setup):
    run = under(
        setup, BEST_FIT.replace("idle, components", "print('{}', flush=True)\n        idle, components"), **OWN_POLICY
    )
    jobs = [setup.submit(4, run=run) for _ in range(3)]
    finish_all(setup, jobs)
    assert {setup.broker.job(job).state for job in jobs} == {JobState.FINISHED}


def test_a_policy_has_neither_the_broker_s_rights_nor_its_files_nor_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TESTBED_SECRET", "x")
    secret = tmp_path / "token"
    secret.write_text("x")
    secret.chmod(0o600)
    tell = f"""
import os
try:
    os.listdir({str(tmp_path)!r})
    listed = "listed"
except PermissionError:
    listed = "refused"
links = [f"/proc/self/fd/{{fd}}" for fd in range(9)]
files = sorted({{os.readlink(link).partition(":")[0] for link in links if os.path.lexists(link)}})
who = f"{{os.getuid()}} {{os.getgid()}} {{os.getgroups()}}"
raise Exception(f"{{who}} {{'TESTBED_SECRET' in os.environ}} {{listed}} {{files}}")
"""
    with pytest.raises(InvalidInput, match="cannot be loaded") as raised:
        PolicyProcess(RunRequest(name="r", policy=NAME, sources={"mine.py": tell}))
    is_root = os.geteuid() == 0
    who = f"{POLICY_USER} {POLICY_USER} []" if is_root else f"{os.getuid()} {os.getgid()} {os.getgroups()}"
    assert f"{who} False {'refused' if is_root else 'listed'} ['/dev/null', 'socket']" in str(raised.value)


def test_a_process_ends_with_its_run(setup):
    run = under(setup, BEST_FIT, **OWN_POLICY)
    process = setup.broker._registry.run(run)._deciding.process._process
    assert process.poll() is None
    setup.broker.end_run(run)
    assert process.poll() is not None


def test_sources_of_ended_runs_are_not_executed_again(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    run = under(setup, BEST_FIT, **OWN_POLICY)
    finish_all(setup, [setup.submit(4, run=run)])
    setup.broker.end_run(run)
    kill(setup)
    monkeypatch.setattr(PROCESS, lambda request: pytest.fail("was executed"))
    again = BrokerSetup(tmp_path)
    assert again.broker.end_run(run).id == run
    assert len(again.broker.jobs(run)) == 1
    again.close()


@pytest.mark.parametrize(("source", "stated"), [(BEST_FIT, {**OWN_POLICY, "queue": "gs"}), (SMALLEST_FIRST, OWN_QUEUE)])
def test_a_run_goes_on_after_its_broker_was_killed_and_every_decision_is_made_again(tmp_path, source, stated):
    setup = BrokerSetup(tmp_path)
    setup.east.others = setup.west.others = 8
    run = under(setup, source, **stated)
    jobs = [setup.submit(size, run=run) for size in (6, 4, 2)]
    setup.until(lambda: len(recorded_decisions(setup, run)) == 3)
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert {entry.job for entry in again.broker.queue()} == set(jobs)
    finish_all(again, jobs)
    request = recorded_request(again, run)
    made = deciders(request.queue, request.policy, request.scanning, request.seed, request.sources)
    assert replay(recorded_decisions(again, run), made, [8, 8]).differences == ()
    again.close()


def test_a_queue_that_cannot_be_restored_fails_its_run_and_the_broker_starts(tmp_path):
    setup = BrokerSetup(tmp_path)
    setup.east.others = setup.west.others = 8
    restored = 'self._jobs = [recalled(job) for job in snapshot["jobs"]]'
    assert restored in SMALLEST_FIRST
    run = under(setup, SMALLEST_FIRST.replace(restored, "1 / 0"), **OWN_QUEUE)
    job = setup.submit(6, run=run)
    setup.until(lambda: recorded_decisions(setup, run))
    kill(setup)
    again = BrokerSetup(tmp_path)
    again.until_state(job, JobState.FAILED)
    assert "restore raised ZeroDivisionError" in again.broker.job(job).reason
    again.broker.end_run(run)
    again.until_state(again.submit(4), JobState.STARTING)
    again.close()


def test_a_policy_that_cannot_be_made_again_fails_its_run_and_the_broker_starts(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    setup.east.others = setup.west.others = 8
    run = under(setup, BEST_FIT, **OWN_POLICY)
    job = setup.submit(6, run=run)
    setup.until(lambda: recorded_decisions(setup, run))
    kill(setup)

    def fails(request, together):
        raise PolicyFailed("mine.py:Mine: its process ended (exit code 1) during loading it.")

    monkeypatch.setattr(PROCESS, fails)
    again = BrokerSetup(tmp_path)
    again.until_state(job, JobState.FAILED)
    assert again.broker.job(job).reason == "mine.py:Mine: its process ended (exit code 1) during loading it."
    again.broker.end_run(run)
    again.until_state(again.submit(4), JobState.STARTING)
    again.close()


def test_single_component_jobs_of_local_queues_need_not_be_of_a_kind_that_the_policy_places(setup):
    flexible = BEST_FIT.replace("RequestKind.NON_FIXED", "RequestKind.FLEXIBLE")
    run = under(setup, flexible, policy=NAME, queue="gp")
    job = setup.submit(2, run=run, queue=setup.broker.topology.cluster_names[1])
    setup.until_state(job, JobState.STARTING)
    with pytest.raises(InvalidInput, match="does not place"):
        setup.submit(2, 2, run=run)
