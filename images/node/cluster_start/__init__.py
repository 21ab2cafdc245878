"""The start of a cluster's container: `python3 -m cluster_start`."""
