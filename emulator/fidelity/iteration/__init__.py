"""A model of an iteration: what computing, borders and meetings of a job take on a topology, without a host.

wide_area    packets between clusters: access links, delays
connections  messages of many segments over TCP connections: full queues, lost packets, timeouts
ranks        the ranks' timestamps, message by message, by the rules of the live pacing
predicted    the iteration of an application's job, in one cluster or split over several
once         what a job distributes and collects once
remembered   iterations and what is passed on once, found once for all jobs that are alike
alone        the job in one cluster
table        rows of known runtimes
parameters   the numbers of a topology that rows can decide
accuracy     errors of rows, and the uncertainty of predictions
fitting      least squares, the error of each row when it is left out, numbers that cannot be told apart

The planner, ``testbed predict`` and ``testbed calibrate --table`` all use this one.
"""
