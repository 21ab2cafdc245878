"""Run: ``python -m tests.bench.first_rank``. How long a job takes from its submission until its first rank runs.

Asks the broker of a running, idle testbed of the topology `mini` for a job of 16 ranks over all four clusters, round
by round, at dilation 1 and without the middleware's stated overhead; prints medians of the host seconds from submission
to each step of the job's life, with the least and the most.
"""

from __future__ import annotations

import argparse
import statistics

from emulator.cli.options import DEFAULT_NAME
from emulator.client import BrokerClient
from emulator.containers.state import testbed_state
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import JobView, RunRequest, Submission

TARGETS_HOST_S = {"all components claimed": 1.5, "first rank running": 4.0}
SPECIFICATION = JobSpecification(
    name="first-rank", application="poisson", arguments={"grid": 100, "iterations": 1}, components=(4, 4, 4, 4)
)


def ended_job(broker: BrokerClient, run: int, after: int) -> tuple[JobView, int]:
    """Submit the job to `run` and await its end; also the number of the last event read."""
    number = broker.submit(Submission(specification=SPECIFICATION, run=run)).id
    for event in broker.follow(run, after=after):
        if event.job is not None and event.job.id == number and event.job.state.final:
            return event.job, event.sequence
    raise SystemExit("The run ended before the job did.")


def steps_s(job: JobView) -> dict[str, float]:
    """Seconds after submission, which at dilation 1 are the host's."""
    if job.state is not JobState.FINISHED:
        raise SystemExit(f"The job {job.state.value}: {job.reason}")
    claimed = sorted(part.claimed_s for part in job.components if part.claimed_s is not None)
    timestamps = {
        "placed": job.placed_s,
        "first component claimed": claimed[0],
        "all components claimed": job.claimed_s,
        "first rank running": job.started_s,
        "finished": job.finished_s,
        "released": job.released_s,
    }
    return {name: timestamp - job.submitted_s for name, timestamp in timestamps.items() if timestamp is not None}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="first_rank", description=__doc__.splitlines()[0])
    parser.add_argument("--name", default=DEFAULT_NAME)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    state = testbed_state(options.name)
    with BrokerClient(state.api_url, state.token) as broker:
        run = broker.take_run(RunRequest(name="first-rank", paced_middleware=False)).id
        try:
            broker.start_run(run)
            rounds, last = [], 0
            for _ in range(options.rounds):
                job, last = ended_job(broker, run, last)
                rounds.append(steps_s(job))
        finally:
            broker.end_run(run)
    print(f"{'after submission':<28}{'median':>9}{'least':>9}{'most':>9}{'target':>9}   (host s)")
    for name in rounds[0]:
        values = [steps[name] for steps in rounds]
        target = f"{TARGETS_HOST_S[name]:>9.1f}" if name in TARGETS_HOST_S else ""
        print(f"{name:<28}{statistics.median(values):>9.2f}{min(values):>9.2f}{max(values):>9.2f}{target}")


if __name__ == "__main__":
    main()
