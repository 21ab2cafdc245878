"""The MPI applications that jobs of the testbed run, with their pacing to the speed of an emulated processor.

An application solves its problem for real; `pacing` then makes each compute phase last as long as the emulated
processor would have needed. Where things are:

- Running a job: `run` is the entry point that the broker starts (`python -m apps` is `__main__`), `start` how ranks
  come to be, `application` what an application is and what it is given, `options` what command lines have in common.
- The applications, one file each: `poisson`, `laplace`, `heat`, `ensflow`, `synthetic`. Ensflow's parts are `ocean`
  (its states), `ensemble` (who has which members), `kalman` (the filter), `assimilation` (the filter over all ranks);
  Synthetic's is `content`, messages that tell where they come from. `kernels` holds the compiled updates.
- Who owns what: `grid` says which process owns which points and talks to whom, `tree` who reports to whom.
- Failing: `failing` ends a whole job with one sentence.
- Messages: `messaging` sends one rank's, paced to an `interconnect`; it wakes others by `doorbells` and waits on
  `sockets`. `exchange` moves the borders between neighbours, `collectives` is what all ranks do together.
- What comes out: `timeline` holds the start barrier and the clocks of the phases, `record` the result that is printed,
  `solution` a divided solution and `norms` its distance from the known one, `saving` a file of it.

Of the emulator only the clock, the units and the errors are imported: this must run in a node with little installed.
"""
