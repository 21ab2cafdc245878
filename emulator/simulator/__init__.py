"""The simulated driver of the policies: an event-driven engine over the very objects that the live broker runs.

engine          events in exact order, jobs from arrival to departure
admission       which jobs the simulated system could ever run
runtime         how long a job runs where it was placed
runtime_tables  extension factors from files
shared_links    a runtime model in which co-allocated jobs share access links
statistics      what is kept of finished jobs: sums and batches, in constant memory
estimates       intervals, utilization and saturation from what was kept
simulation      `simulate`, which ties them
sweep           many simulations on many processors, by dask
studies         the published studies and their claims
compile         compiling policies and engine from their own sources
"""

from __future__ import annotations

from emulator.simulator.simulation import SimulationResult, simulate

__all__ = ["SimulationResult", "simulate"]
