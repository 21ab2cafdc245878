"""The execution of placed jobs, each on a thread of its own.

supervisor     launches placed jobs and records what their executions report
launch         what an execution needs, made of run, specification and placement
execution      claim, wait for all components, start, follow, release
gatekeepers    the heads' gatekeepers, which serve one submission at a time
claiming_try   one allocation per cluster of a placement, all or none
releases       releases that are tried until nothing is held
strays         allocations in the testbed's name that belong to no job
reports        the events that an execution reports to the broker's loop
runner         the protocol of what starts and follows a job's processes
mpi_runner     MPI ranks across clusters
ranks          what the ranks are and report: an application's, or those of a program of the user's own
own_program    a program of the user's own: the script of each process, and what it reports
mpirun_script  the script that starts MPI ranks across clusters
rank_command   the command line of each rank
announcement   the announcement of a job's start to its processes
plain_runner   programs without MPI: one process per processor
time_limits    the limits within which a job's processes must begin and end
outputs        what jobs write, on disk, of limited size
"""
