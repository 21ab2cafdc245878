"""The emulator: everything that brings a multicluster up, schedules jobs on it and records what happened.

Packages stand in floors, and a module imports only from lower ones (import-linter checks it):

    0  model                                               plain values: no I/O, no container
    1  policies, clusters, containers, fidelity, client    decisions, local managers, Docker, verdicts, HTTP client
    2  broker, simulator                                   the live and the simulated driver of the policies
    3  runs                                                a run of any kind: holding the testbed, records, evidence
    4  planning                                            what a run costs this host, and its dilation
    5  campaigns, measurement, calibration                 workloads through a driver, factors, processor profiles
    6  studies                                             published studies and tables, and their claims
    7  reports                                             tables, figures and pages from records and studies
    8  cli                                                 the ``testbed`` command
"""

try:
    from emulator import compiled
except ImportError:
    # Inside a node only a few modules of this package exist, and none of those is ever compiled.
    pass
else:
    compiled.install()
