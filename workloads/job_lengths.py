"""How long a campaign's jobs are: the execution times drawn for them, and the iterations that take as long.

The drawn time is that of the job in one cluster, which the model of an iteration divides into iterations. A live job
and a simulated one thus carry the same work. Without drawn times, jobs have the length that the campaign states.

A time scale divides lengths: iterations, and what a job passes on once. It changes nothing else of a job, so that an
iteration costs the same, its messages are the same, and an extension factor is the same. A stated length of an
application that communicates only every few iterations stays a multiple of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apps.descriptor import ApplicationDescriptor, ArgumentValue
from apps.registry import APPLICATIONS, application_named, check_program
from emulator.fidelity.iteration.alone import job_alone
from emulator.fidelity.iteration.remembered import JobOver, iterations_on
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.topology import Topology
from workloads.campaign import Campaign
from workloads.distributions import stream
from workloads.schedule import Arrival, stated_program

Arguments = Mapping[str, ArgumentValue]


def drawn_services_s(campaign: Campaign, count: int, seed: int) -> list[float] | None:
    """Return the execution times in one cluster of the first `count` jobs; None if the campaign states none.

    Those of listed jobs are stated, and not drawn. They are divided by the campaign's time scale.
    """
    if campaign.listed:
        return [job.service_s / campaign.time_scale for job in campaign.listed[:count]]
    if campaign.service_s is None:
        return None
    return [drawn_s / campaign.time_scale for drawn_s in campaign.service_s.draw_s(count, stream(seed, "service"))]


def with_lengths(arrivals: Sequence[Arrival], campaign: Campaign, topology: Topology, seed: int) -> list[Arrival]:
    """Return `arrivals` of `campaign` on `topology` with jobs as long as drawn or stated, divided by the time scale.

    Raises:
        InvalidInput: if a job's problem cannot be divided over its processors, nothing says how long it is, it sets
            arguments that no job may set, or a time scale is to divide a program of the user's own, or leaves a job
            none of its communication.
        UnknownName: if there is no such application.
    """
    drawn_s = drawn_services_s(campaign, len(arrivals), seed)
    services_s: Sequence[float | None] = [None] * len(arrivals) if drawn_s is None else drawn_s
    lengths = _Lengths(campaign, topology)
    return [
        arrival.model_copy(update={"specification": lengths.given(arrival.specification, service_s)})
        for arrival, service_s in zip(arrivals, services_s, strict=True)
    ]


def check_programs(campaign: Campaign) -> None:
    """Check that the applications of `campaign` have the arguments that it states, which a simulation may never read.

    Applications that the testbed does not have, and their arguments, are for simulations only.

    Raises:
        InvalidInput: if one has not, or sets arguments that no job may set.
    """
    for application, arguments in _stated_programs(campaign):
        if application in APPLICATIONS:
            _check(campaign, application, arguments)


def _stated_programs(campaign: Campaign) -> Iterator[tuple[str, Arguments]]:
    if campaign.command:
        return
    if campaign.job_list is not None:
        yield from (stated_program(campaign, job) for job in campaign.listed[: campaign.jobs])
    elif campaign.choices:
        yield from ((choice.application, choice.arguments) for choice in campaign.choices)
    else:
        yield campaign.application, campaign.arguments


def _check(campaign: Campaign, application: str, arguments: Arguments, processor_speed: float = 1.0) -> None:
    try:
        check_program(application, arguments, processor_speed)
    except InvalidInput as error:
        raise InvalidInput(f"campaign {campaign.name!r}: {error}") from error


def with_once_divided(arrivals: Sequence[Arrival], campaign: Campaign) -> list[Arrival]:
    """Return `arrivals` of `campaign` where what jobs pass on once is divided by the time scale, as in a live run."""
    found: list[Arrival] = []
    for arrival in arrivals:
        job = arrival.specification
        if not job.command:
            divided = _once_divided(application_named(job.application), job.arguments, campaign.time_scale)
            job = job.model_copy(update={"arguments": divided})
        found.append(arrival.model_copy(update={"specification": job}))
    return found


class _Lengths:
    """The lengths that jobs get."""

    def __init__(self, campaign: Campaign, topology: Topology) -> None:
        self._campaign, self._topology = campaign, topology
        self._iterations = iterations_on(topology)

    def given(self, specification: JobSpecification, service_s: float | None) -> JobSpecification:
        """Return the job with its length, `service_s` long in one cluster unless that is None or cannot be told."""
        if specification.command:
            self._check_undivided()
            return specification
        descriptor = application_named(specification.application)
        _check(self._campaign, descriptor.name, specification.arguments, specification.processor_speed)
        arguments = _once_divided(descriptor, specification.arguments, self._campaign.time_scale)
        alone = (
            None if service_s is None else self._job_alone(descriptor.name, arguments, sum(specification.components))
        )
        if alone is not None and service_s is not None:
            arguments[descriptor.length] = max(1, round(alone.iterations_in(service_s)))
        elif service_s is not None or self._campaign.time_scale != 1.0:
            arguments[descriptor.length] = self._stated_divided(descriptor, arguments)
        return specification.model_copy(update={"arguments": arguments})

    def _check_undivided(self) -> None:
        if self._campaign.time_scale != 1.0:
            raise InvalidInput(
                f"campaign {self._campaign.name!r}: time_scale: nothing divides the length of a program of one's own "
                f"by {self._campaign.time_scale:g}; leave it out, and begin anew what was begun with it."
            )

    def _job_alone(self, application: str, arguments: Arguments, processors: int) -> JobOver | None:
        try:
            return job_alone(self._iterations, application, arguments, processors)
        except InvalidInput as error:
            raise InvalidInput(f"campaign {self._campaign.name!r}: {error}") from error

    def _stated_divided(self, descriptor: ApplicationDescriptor, arguments: Arguments) -> int:
        stated = arguments.get(descriptor.length, descriptor.default_length)
        if not isinstance(stated, int | float):
            paced = self._topology.processor.costs is not None
            why = "or service_s" if paced else f"for the processors of {self._topology.name!r} are unpaced"
            raise InvalidInput(
                f"campaign {self._campaign.name!r}: arguments: nothing says how long its {descriptor.name} jobs are "
                f"(state {descriptor.length}, {why})."
            )
        scale = self._campaign.time_scale
        period = descriptor.form.iterations_to_communication(arguments)
        if scale == 1.0 or period == 1 or stated < period:
            return max(1, round(stated / scale))
        if scale > stated // period:
            raise InvalidInput(
                f"campaign {self._campaign.name!r}: time_scale: {scale:g} leaves {descriptor.name} jobs of {stated:g} "
                f"{descriptor.length} fewer than the {period} in which they communicate once; use "
                f"{stated // period:g} at most, or state more {descriptor.length}."
            )
        return period * round(stated / scale / period)


def _once_divided(
    descriptor: ApplicationDescriptor, arguments: Arguments, time_scale: float
) -> dict[str, ArgumentValue]:
    """Return `arguments` with the share of what is passed on once divided by `time_scale`; it never exceeds all."""
    divided = dict(arguments)
    if descriptor.once_share is not None and time_scale > 1.0:
        share = arguments.get(descriptor.once_share, 1.0)
        divided[descriptor.once_share] = (share if isinstance(share, int | float) else 1.0) / time_scale
    return divided
