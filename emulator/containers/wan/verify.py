"""The wide area measured against what was asked: every ordered pair, by probes inside the clusters.

``verify_wide_area`` is the full form, ``check_wide_area`` the short one that ends ``up``. Both read back what is
programmed before they touch it, and leave the wide area programmed as they found it (or, if it was not whole, for the
dilation asked). What lies outside its tolerance is measured again, because this host does other work too; how often is
part of the report.
"""

from __future__ import annotations

from typing import Final

from emulator.containers.events import Observer, ignore
from emulator.containers.wan.measurements import WideAreaReport, power_of_two_not_below
from emulator.containers.wan.stand import Stand
from emulator.containers.wan.verification import Verification
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.clock import Dilation
from emulator.model.topology import Topology

DELAY_PACKETS: Final = 50
DELAY_PACKETS_SHORT: Final = 15


def verify_wide_area(
    stand: Stand, topology: Topology, dilation: Dilation, observe: Observer = ignore
) -> WideAreaReport:
    """Measure delays, rates, sharing and losses of every pair at `dilation`; the testbed must be idle.

    Rates, sharing and losses are measured at the smallest power-of-two dilation, not below the one asked, at which the
    router carries both directions of its fastest pair at once.

    Raises:
        NotStanding: if a container does not run.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    verification = Verification(stand, topology, dilation, observe)
    found = programmed_wide_area(stand, topology)
    try:
        measurements = verification.delays(DELAY_PACKETS)
        rate_dilation, loaded = verification.loaded()
        measurements += loaded
        carries_asked = rate_dilation.factor <= dilation.factor or (
            # Between two powers of two, only a look of its own tells.
            rate_dilation == power_of_two_not_below(dilation) != dilation and verification.carries(dilation)
        )
    finally:
        verification.program(found.dilation if found.dilation is not None and found.whole else dilation)
    return verification.report(measurements, rate_dilation, found.differences, carries_asked=carries_asked)


def check_wide_area(
    stand: Stand,
    topology: Topology,
    dilation: Dilation,
    observe: Observer = ignore,
    *,
    carrying: bool = False,
    shared: bool = True,
) -> WideAreaReport:
    """The short form: the delay of every pair, and the rate of every access link, in a few seconds.

    Programs the wide area for `dilation`, and leaves it so. Rates are measured at a dilation at which they are no
    burden. With `carrying` it also looks whether the router carries full links at `dilation`; the full form does. With
    `shared` False every connection has the rate of the links it crosses.

    Raises:
        NotStanding: if a container does not run.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    verification = Verification(stand, topology, dilation, observe, shared=shared)
    rate_dilation, measurements = verification.light()
    carries_asked = not carrying or verification.carries(dilation)
    measurements += verification.delays(DELAY_PACKETS_SHORT)
    return verification.report(measurements, rate_dilation, carries_asked=carries_asked)
