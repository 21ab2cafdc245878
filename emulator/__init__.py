"""The emulator: everything that brings a multicluster up, schedules jobs on it and records what happened.

Packages stand in floors, and a module imports only from lower ones (import-linter checks it):

    0  model                                               plain values: no I/O, no container
    1  policies, clusters, containers, fidelity, client    decisions, local managers, Docker, verdicts, HTTP client
    2  broker, simulator                                   the live and the simulated driver of the policies
    3  campaigns                                           workloads through a driver, measurements, calibrations
    4  reports                                             tables, figures and pages from records and studies
    5  cli                                                 the ``testbed`` command
"""

try:
    from emulator import compiled
except ImportError:
    # Inside a node only a few modules of this package exist, and none of those is ever compiled.
    pass
else:
    compiled.install()
