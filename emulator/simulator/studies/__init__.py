"""The published simulation studies, run again: what they simulated, what they claim, and whether it shows.

workloads     the studies' job streams by name
cases         one simulation each: response times at a load, or the maximal utilization
comparisons   what claims are made of, and how paired intervals decide them
statements    the words of claims as ratios with bounds
claims        the published claims C1 to C24 as data, synthetic and measured
catalogue     which workloads and queues each study runs
conduct       from a study's name to its results
"""
