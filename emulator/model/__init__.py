"""Plain values that all other packages share: multiclusters, requests, jobs and records.

Only ``documents`` performs I/O: it reads one YAML file into one value. ``clock``, ``units``, ``point_costs``,
``time_sharing`` and ``errors`` import nothing but the standard library, because the applications import them inside a
node.
"""
