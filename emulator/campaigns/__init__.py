"""A workload through either driver of the policies: the broker of a testbed, or the simulator.

On a testbed:

live                  a campaign on a running testbed
load_generator        the subprocess that submits its schedule
dilation              its dilation: as stated, or found by pilots
background            its background load, from the start of the run's clock to the end of its jobs
standing_background   a background load that no campaign owns
live_like_run         a campaign like a recorded one, from its directory
live_sweep            a campaign under several policies, queues and seeds, in a folder that can grow
live_sweep_process    the process that runs such a sweep
run_again             interrupted and void campaigns once more

In the simulator:

workload_sources      what a user may name to be simulated: a campaign, a job list, a log, a study's stream
simulated_workload    a workload ready to be simulated, and the options of a simulation
simulated             such a workload through the simulator
simulated_run         a simulation as a run's directory
simulated_background  the background load of a simulated campaign
modelled_jobs         the jobs of a campaign with their execution times, drawn or by the model
job_times             execution times of jobs whose application is known, measured or by the model
simulation_sweep      a workload simulated over policies, queues, loads and seeds
swept_workload        that workload: what its simulations share and read
offered_load          the load that jobs offer, and the same jobs at another
published_cases       the published campaigns under every policy that a claim compares

What a live run did, simulated:

like_run              its schedule, system, scheduler and background load, from its directory
chance                what took another time for each of its jobs, for reasons that no simulation knows
shared_like_run       a run on nodes that tasks share in time
recorded_starts       when and where each job of such a run started
shared_simulated_run  the simulation of such a run as a run's directory
"""
