"""The emulator: everything that brings a multicluster up, schedules jobs on it and records what happened.

Packages stand in floors, and a module imports only from lower ones (import-linter checks it):

model        floor 0: plain values, and the little that several packages read, lock or replace on disk
hosts        between floors 0 and 1: which hosts carry a testbed, and what each lacks
policies     floor 1: decisions, which job is next and where it goes
clusters     floor 1: local resource managers and file servers, over SSH
containers   floor 1: the multicluster as containers, and its wide area
fidelity     floor 1: measures, verdicts and pilots, and the model of an iteration
client       floor 1: the broker's HTTP client
broker       floor 2: the live driver of the policies
simulator    floor 2: the simulated driver of the policies
runs         floor 3: a run of any kind: holding the testbed, records, evidence
planning     floor 4: what a run costs this host, and its dilation
campaigns    floor 5: workloads through a driver
measurement  floor 5: extension factors, and what communication costs
calibration  floor 5: processor profiles and topologies from known runtimes
studies      floor 6: published studies and tables, and their claims
reports      floor 7: tables, figures and pages from records and studies
page         floor 7: the live page of a testbed, or of a finished run
watch        floor 7: what that page shows, for a terminal
cli          floor 8: the ``testbed`` command
notebook     floor 8: a running testbed as pandas tables
compiled     on no floor: the import of compiled policies and engine, once they have been compiled
"""

try:
    from emulator import compiled
except ImportError:
    # Inside a node only a few modules of this package exist, and none of those is ever compiled.
    pass
else:
    compiled.install()
