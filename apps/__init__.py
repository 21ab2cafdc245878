"""The MPI applications that jobs of the testbed run, with their pacing to the speed of an emulated processor.

An application solves its problem for real; `pacing` then makes each compute phase last as long as the emulated
processor would have needed. Where things are:

- Running a job: `run` is the entry point that the broker starts (`python -m apps` is `__main__`), `start` how ranks
  come to be, `announcement` how they wait for the job's start, `application` what an application is and what it is
  given, `options` what command lines have in common.
- Knowing an application without running it: `registry` has a descriptor for each, `descriptor` says what those hold.
- The applications, one file each: `poisson`, `laplace`, `heat`, `ensflow`, `synthetic`. Ensflow's parts are `basin`
  (the ocean's grid), `ocean` (its states), `ensemble` (who has which members), `kalman` (the filter), `assimilation`
  (the filter over all ranks); Synthetic's are `content`, messages that tell where they come from, and `partners`, who
  sends to whom. `kernels` holds the compiled updates.
- Who owns what: `grid` says which process owns which points and talks to whom, `tree` who reports to whom.
- Failing: `failing` ends a whole job with one sentence.
- Messages: `messaging` sends one rank's, paced to an `interconnect`, and wakes other ranks by `doorbells`. `exchange`
  moves the borders between neighbours, `collectives` is what all ranks do together.
- Nodes that tasks share in time: `shared_pacing` paces a rank there, `arbiter` is the program that it asks,
  `local_bursts` prints what the arbiter tells of local users, and `interfaces` has the network interfaces of nodes.
- Measuring: `setting` says how a job runs, `counters` what a rank counts, `phase_clock` closes the phases of a loop,
  `numerics` says which of them compute, and `wide_area_bytes` asks the kernel what the ranks' connections carried.
- Results: `timeline` has the barriers and the events that rank 0 reports, `record` the result that is printed,
  `solution` the computed solution: its distance from the known one, and a file of it.

Of the emulator only the clock, the units, the costs of a point, time sharing and the errors are imported: this must run
in a node with little installed.
"""
