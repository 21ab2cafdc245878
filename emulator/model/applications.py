"""The applications that a job may name, and the arguments that are not its user's to give.

An application's own arguments are the user's; where and on what it runs (components, dilation, processor, interconnect,
start) is the testbed's to say.
"""

from __future__ import annotations

from typing import Final

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.job import JobKind, JobSpecification

APPLICATIONS: Final = ("poisson", "laplace", "heat", "ensflow", "synthetic")
"""What the clusters' nodes can run; each is a module of ``apps``."""

TESTBED_ARGUMENTS: Final = frozenset(
    {
        "dilation",
        "clusters",
        "components",
        "start-at",
        "save",
        "native",
        "in-cache-ns-per-point",
        "out-of-cache-ns-per-point",
        "cache-bytes",
        "weight",
        "interconnect",
    }
)
"""Arguments that the testbed sets, or that mean nothing where a job runs."""


def check_program(specification: JobSpecification) -> None:
    """Refuse what could not be run.

    Raises:
        UnknownName: if there is no such application.
        InvalidInput: if an argument is one that the testbed sets.
    """
    if specification.kind is JobKind.PLAIN:
        return
    if specification.application not in APPLICATIONS:
        raise UnknownName.among("application", specification.application, list(APPLICATIONS))
    for name in specification.arguments:
        if name in TESTBED_ARGUMENTS:
            raise InvalidInput(f"arguments.{name}: the testbed sets this argument itself; leave it out.")
