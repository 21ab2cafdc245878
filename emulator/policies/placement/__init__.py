"""Placement policies: where a job goes. One file a policy; all are all-or-nothing, ties go to the lowest index."""
