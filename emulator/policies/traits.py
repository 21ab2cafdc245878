"""The traits of a policy or a queue discipline, which it states as attributes of its class, read in this module only.

A trait that is not stated is False, and a value that is no bool counts as Python counts it. A wrapper carries the
traits of what it wraps in an attribute `traits`. What an object states itself counts before what it carries: a class
that forwards all other attributes to a wrapper has both. Read traits once, because they never change.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementTraits:
    """What a placement policy states of itself.

    If it `ignores_time` or `ignores_estimates`, its answers do not depend on the time, or on the estimate in a request;
    the testbed's policies of clusters state both. If it `needs_running_jobs`, it reads the running jobs and their
    estimated ends. If it `chooses_nodes`, it reads the nodes of the state, and its placements name one for each task;
    it then works only where tasks share nodes in time.
    """

    ignores_time: bool = False
    ignores_estimates: bool = False
    needs_running_jobs: bool = False
    chooses_nodes: bool = False


@dataclass(frozen=True, slots=True)
class QueueTraits:
    """What a queue discipline states of itself.

    `has_local_queues` says whether a single-component job must name the queue it is submitted to, and
    `has_local_queues_only` whether every job must. If it `places_singles_at_home`, no policy is asked about
    single-component jobs, so they need not be of a kind that it accepts. If it `needs_running_jobs`, it reads the
    running jobs and their estimated ends. `has_could_start` says whether it has a method `could_start`.
    """

    has_local_queues: bool = False
    has_local_queues_only: bool = False
    places_singles_at_home: bool = False
    needs_running_jobs: bool = False
    has_could_start: bool = False

    @property
    def has_queue_per_cluster(self) -> bool:
        """Whether a job, single-component or any, names the queue that it is submitted to."""
        return self.has_local_queues or self.has_local_queues_only


def traits_of_placement(policy: object) -> PlacementTraits:
    """Return the traits of a placement policy."""
    carried = getattr(policy, "traits", None)
    wrapped = carried if isinstance(carried, PlacementTraits) else PlacementTraits()
    return PlacementTraits(
        ignores_time=_stated(policy, "ignores_time", wrapped.ignores_time),
        ignores_estimates=_stated(policy, "ignores_estimates", wrapped.ignores_estimates),
        needs_running_jobs=_stated(policy, "needs_running_jobs", wrapped.needs_running_jobs),
        chooses_nodes=_stated(policy, "chooses_nodes", wrapped.chooses_nodes),
    )


def traits_of_queue(discipline: object) -> QueueTraits:
    """Return the traits of a queue discipline; whether there is a method `could_start` is never carried."""
    carried = getattr(discipline, "traits", None)
    wrapped = carried if isinstance(carried, QueueTraits) else QueueTraits()
    return QueueTraits(
        has_local_queues=_stated(discipline, "has_local_queues", wrapped.has_local_queues),
        has_local_queues_only=_stated(discipline, "has_local_queues_only", wrapped.has_local_queues_only),
        places_singles_at_home=_stated(discipline, "places_singles_at_home", wrapped.places_singles_at_home),
        needs_running_jobs=_stated(discipline, "needs_running_jobs", wrapped.needs_running_jobs),
        has_could_start=hasattr(discipline, "could_start"),
    )


def need_running_jobs(discipline: object, policy: object) -> bool:
    """Return whether a discipline or a policy reads the running jobs and their estimated ends."""
    return traits_of_queue(discipline).needs_running_jobs or traits_of_placement(policy).needs_running_jobs


def _stated(decider: object, trait: str, otherwise: bool) -> bool:
    return bool(getattr(decider, trait, otherwise))
