"""Planning of a run: its jobs, their cost on this host, and the smallest faithful dilation.

planned_runs                 the jobs of a measurement or a campaign, and how they overlap
planned_jobs, planned_traffic  from a job's specification to its work, its messages and its packets
predicted_jobs, lateness     what each job will be like at a dilation, and how many of its phases end late
costs                        what the host's processors, memory and router cost a testbed
plan                         what binds first, and the dilation proposed
host_probe, host_readings, host_costs   measuring a host, reading costs from it, and remembering them
plan_records                 a plan kept with its run
"""
