"""Sources of policies and disciplines that a researcher may submit: good, bad and hostile ones."""

HEAD = """
from emulator.model.job import Component, Placement
from emulator.model.request import RequestKind
from emulator.policies.protocols import Arrival, Reject, Start, Withdrawal
from emulator.policies.queues.snapshot_codec import recalled, remembered
"""

BEST_FIT = (
    HEAD
    + """

class Mine:
    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        idle, components = list(state.idle), []
        for size in request.components:
            roomy = [cluster for cluster in range(len(idle)) if idle[cluster] >= size]
            if not roomy:
                return None
            chosen = min(roomy, key=lambda cluster: idle[cluster])
            idle[chosen] -= size
            components.append(Component(chosen, size))
        return Placement(tuple(components))
"""
)

SHORTEST_AHEAD = (
    HEAD
    + """

class Mine:
    accepts = frozenset({RequestKind.NON_FIXED})
    needs_running_jobs = True

    def place(self, request, state):
        # Where the job that ends first runs; its end must be known.
        running = state.surroundings.running
        if not running:
            return Placement((Component(0, request.processors),))
        first = min(running, key=lambda job: job.estimated_end_s)
        return Placement((Component(first.placement.components[0].cluster, request.processors),))
"""
)

SMALLEST_FIRST = (
    HEAD
    + """

class Mine:
    def __init__(self):
        self._jobs = []

    def decide(self, event, state, policy, rng):
        if isinstance(event, Arrival):
            self._jobs.append(event.job)
        elif isinstance(event, Withdrawal):
            self._jobs = [job for job in self._jobs if job.id != event.job_id]
        self._jobs.sort(key=lambda job: (job.request.processors, job.id))
        starts = []
        while self._jobs and (placement := policy.place(self._jobs[0].request, state)) is not None:
            starts.append(Start(self._jobs.pop(0).id, placement))
            state = state.after(placement)
        return starts

    def next_scan_s(self):
        return None

    def waiting(self):
        return [job.id for job in self._jobs]

    def snapshot(self):
        return {"jobs": [remembered(job) for job in self._jobs]}

    def restore(self, snapshot):
        self._jobs = [recalled(job) for job in snapshot["jobs"]]
"""
)


def placing(body: str) -> str:
    """Return a policy that runs `body` if a processor is in use; the check on an idle system never reaches `body`."""
    return (
        HEAD
        + f"""

class Mine:
    accepts = frozenset({{RequestKind.NON_FIXED}})

    def place(self, request, state):
        if min(state.idle) == 8:
            return Placement((Component(0, request.processors),))
        {body}
"""
    )


def deciding(**methods: str) -> str:
    """Return a discipline like `SMALLEST_FIRST` that uses the bodies of `methods` once a job has arrived."""
    own = SMALLEST_FIRST.replace("class Mine:", "class Good:") + "\n\nclass Mine(Good):\n"
    arguments = {"decide": "event, state, policy, rng", "could_start": "job, state, policy", "restore": "snapshot"}
    for method, body in methods.items():
        taken = arguments.get(method, "")
        own += (
            f"    def {method}(self{', ' if taken else ''}{taken}):\n"
            f"        if not self._jobs and '{method}' != 'decide':\n"
            f"            return super().{method}({taken})\n"
            f"        {body}\n\n"
        )
    return own
