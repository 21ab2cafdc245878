"""Verification of the wide area: every ordered pair measured by probes inside the clusters.

``verify_wide_area`` is the full form, ``check_wide_area`` the short one; ``up`` ends with ``check_patiently``. All read
back what is programmed before they touch it, and leave the wide area programmed as they found it (or, if it was not
whole, for the dilation asked). What lies outside its tolerance is measured again, because this host does other work
too; the report counts the repetitions.
"""

from __future__ import annotations

import time
from typing import Final

from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import WideAreaReport, power_of_two_not_below
from emulator.containers.wan.verification import Verification
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.clock import Dilation
from emulator.model.topology import Topology

DELAY_PACKETS: Final = 50
DELAY_PACKETS_SHORT: Final = 15
PATIENT_ATTEMPTS: Final = 4
HOST_PAUSE_S: Final = 5.0


def verify_wide_area(
    handle: WanHandle, topology: Topology, dilation: Dilation, observe: Observer = ignore
) -> WideAreaReport:
    """Measure delays, rates, sharing and losses of every pair at `dilation`; the testbed must be idle.

    Rates, sharing and losses are measured at the smallest power-of-two dilation, not below the one asked, at which the
    router carries both directions of its fastest pair at once.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    verification = Verification(handle, topology, dilation, observe)
    found = programmed_wide_area(handle, topology)
    try:
        measurements = verification.delays(DELAY_PACKETS)
        rate_dilation, loaded = verification.loaded()
        measurements += loaded
        carries_asked = rate_dilation.factor <= dilation.factor or (
            # Between two powers of two, this needs a measurement of its own.
            rate_dilation == power_of_two_not_below(dilation) != dilation and verification.carries(dilation)
        )
    finally:
        verification.program(found.dilation if found.dilation is not None and found.whole else dilation)
    return verification.report(measurements, rate_dilation, found.differences, carries_asked=carries_asked)


def begin_check(
    handle: WanHandle, topology: Topology, dilation: Dilation, observe: Observer = ignore, *, shared: bool = True
) -> Verification:
    """Program the wide area for what `check_wide_area` measures first, and return the check that has begun."""
    check = Verification(handle, topology, dilation, observe, shared=shared)
    check.program(check.light_dilation(), with_delays=False)
    return check


def check_wide_area(
    handle: WanHandle,
    topology: Topology,
    dilation: Dilation,
    observe: Observer = ignore,
    *,
    carrying: bool = False,
    shared: bool = True,
    begun: Verification | None = None,
) -> WideAreaReport:
    """Measure the delay of every pair and the rate of every access link, in a few seconds.

    Programs the wide area for `dilation`, and leaves it programmed. Rates are measured at a dilation at which they are
    a light load. With `carrying`, also check whether the router carries full links at `dilation`, as the full form
    does; that takes a flood of two seconds or more, unless rates that were right show it already: all links at once may
    have been as large a load as the fastest pair is at `dilation`. With `shared` False, every connection has the rate
    of the links that it crosses. A check of the same that has `begun` is continued.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    verification = begun or Verification(handle, topology, dilation, observe, shared=shared)
    rate_dilation, measurements = verification.light(DELAY_PACKETS_SHORT)
    right = all(measurement.within for measurement in measurements)
    carried = right and verification.shows_carrying(rate_dilation)
    carries_asked = not carrying or carried or verification.carries(dilation)
    measurements += verification.delays(DELAY_PACKETS_SHORT)
    # Without a pair, nothing was measured at `dilation`.
    verification.program(dilation)
    return verification.report(measurements, rate_dilation, carries_asked=carries_asked)


def check_patiently(
    handle: WanHandle,
    topology: Topology,
    dilation: Dilation,
    observe: Observer = ignore,
    *,
    begun: Verification | None = None,
) -> WideAreaReport:
    """Check the wide area as `check_wide_area` does, and again after a pause while it is not as asked.

    For links that were just programmed: what starts beside them keeps the host busy for some seconds. A wrong program
    stays wrong.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if the wide area cannot be programmed or measured at all.
    """
    report = check_wide_area(handle, topology, dilation, observe, begun=begun)
    for _ in range(PATIENT_ATTEMPTS - 1):
        if report.ok:
            break
        observe(ProgressStep("wide area", f"not as asked: measuring again in {HOST_PAUSE_S:g} s"))
        time.sleep(HOST_PAUSE_S)
        report = check_wide_area(handle, topology, dilation, observe)
    return report
