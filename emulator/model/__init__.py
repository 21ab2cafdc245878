"""Plain values that every other package shares: what a multicluster, a request, a job and a record are.

Nothing here performs I/O except ``documents`` (which reads one YAML file into one value), and ``clock``, ``units`` and
``errors`` need the standard library only, because the applications import them inside a node.
"""
