"""The files that jobs read: where replicas are, how they come to where jobs run, and when they go again.

catalogue   which site holds which file, and which jobs use it, on disk
delivery    a job's wait for the replicas that it reads
transfers   one transfer on a thread of its own, shared by the jobs that wait for it
replicas    all of it together, on the broker's loop: brings, counts users, removes, forecasts bandwidths
registry    files registered and removed by users, which takes file servers seconds
"""
