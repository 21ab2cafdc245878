"""A run of any kind: holding the testbed, executing cells or a job stream, recording, and the directory that it leaves.

holding, container_testbed   taking the testbed for a run and giving it back; the testbed of containers
recorded_run, following      what all runs have in common: manifest, records, link checks; following a run's events
progress                     how far a run is
recording, run_directory     the broker's events as rows, and rows as a run's files
job_rows                     the rows of a job that has ended
writer                       whether the process of a run still lives
evidence, telemetry          what is observed of the host and the links during a run, and through what
wide_area_use                which jobs had the wide area to themselves
surroundings                 the host and the versions, as a manifest records them
timelines, steps             what happened on the clusters over time, worked out from a run's records
matrix                       the cells of a matrix of measurements
cell_runs, cell_sessions     running cells in turn, and as one recorded run
control_runs                 runs beside a measurement's own that change the wide area or the dilation
extension_factors            rows of extension factors from finished cells
resuming                     what earlier attempts have already run
equal_jobs                   jobs that differ in their length alone
same_campaign                what runs of one campaign have in common, and what simulations assume
input_files                  the files that a campaign's jobs read
replay                       a run's recorded decisions made again
"""
