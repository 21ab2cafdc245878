"""How a run is fitted to this host: what can be said of it beforehand, and pilots that choose its dilation.

planned_jobs     from a job's specification to its iteration and its work
planned_traffic  the packets that an iteration sends between clusters
planned_files    the disk that input files take at once
planned_hosts    the hosts over which a testbed spreads, or is to spread
planned_runs     the jobs of a measurement or a campaign, and which of them run at the same time
shared_nodes     a campaign's jobs on nodes that tasks share in time
plan             what a run asks of this host, the smallest dilation it allows, and how long it takes
trying           pilots of jobs on the running testbed, until a dilation suffices
choices          the dilation of each problem of a measurement, as its records keep it
"""
