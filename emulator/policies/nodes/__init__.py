"""Scheduling on nodes that several jobs share with each other and with local users: the 3DBackfilling paper's parts.

limits         what a node may be given: multiprogramming level, memory and processor under the social contract
selection      which nodes a job gets: *Normal*, and *Uniform* (Hard, Light); placement policies
job_selection  which waiting job is next: *Just First*, *Best Fit*, *Backfill*
job_queue      the discipline made of an order (FCFS, SJF, LJF) and a job selection
forward        the estimator of when a job could start, where several jobs share a node
stated         the nodes of a topology, with the local users that it states
changes        the state with one job more on its nodes, or without some
checks         whether placements name a node with room for each task
compositions   node selection, job selection and order under one name: `basic` to `3dbf-hard`
"""
