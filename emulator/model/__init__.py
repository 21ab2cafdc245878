"""Plain values that all other packages share: multiclusters, requests, jobs and records.

Little here performs I/O: ``documents`` reads one YAML file into one value, ``whole_text`` replaces a file whole, and
``process_lock`` locks one. ``clock``, ``units``, ``point_costs``, ``time_sharing`` and ``errors`` import nothing but
the standard library, because the applications import them inside a node.
"""
