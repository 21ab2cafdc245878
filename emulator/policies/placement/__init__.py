"""Placement policies, which decide where a job goes; one file per policy.

Every policy places a whole job or nothing. Ties go to the cluster with the lowest index.
"""
