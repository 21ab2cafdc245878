"""The simulator: an event-driven engine that runs the same policy objects as the live broker.

simulation            `simulate`, which combines the modules below
engine                events in exact order, and jobs from arrival to departure
simulated_job         a job from arrival to departure, and the next one of a stream
possible_jobs         which jobs the simulated system could ever run
runtime               how long a job runs, depending on its placement
runtime_tables        extension factors from files
shared_links          contention of co-allocated jobs for access links
claiming              claims of jobs whose file is under way
transfers             transfers of input files over shared links
background            the load of other users, held in a band
replayed_background   that load as a run recorded it
time_shared           simulation of nodes that several jobs share
statistics            sums and batches over jobs, in constant memory
estimates             intervals, utilization and saturation from the statistics
parallel_simulations  many simulations in parallel, with dask
study_streams         the job streams of the published studies
compile               compilation of policies and engine from their own sources
"""

from __future__ import annotations

from emulator.simulator.simulation import SimulationResult, simulate

__all__ = ["SimulationResult", "simulate"]
