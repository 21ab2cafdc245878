"""A run of any kind: holding the testbed, executing cells or a job stream, recording, and the directory that it leaves.

Holding and recording:

holding              taking the testbed for a run and giving it back
container_testbed    the testbed of containers, as a run uses it
recorded_run         what all runs have in common: manifest, records, link checks
following            following a run's events until its end
progress             how far a run is
recording            the broker's events as rows
job_rows             the rows of a job that has ended
page_notes           what the recorder tells the live page
run_directory        rows as a run's files, and these read back
appended_files       files that grow by whole lines, also where the disk is full for a while
folders              folders of runs
surroundings         the host and the versions, as a manifest records them
program_version      which program made a run: a digest of its sources, and its commit

What is observed meanwhile:

evidence             what is seen of the host and the links
telemetry            through what it is seen
wide_area_use        which jobs had the wide area to themselves
timelines            what happened on the clusters over time, worked out from the records
steps                counts that change with time

Measurements:

matrix               the cells of a matrix of measurements
cell_runs            running cells in turn
cell_sessions        cells as one recorded run
control_runs         runs beside a measurement's own that change the wide area or the dilation
extension_factors    rows of extension factors from finished cells
resuming             what earlier attempts have already run
measured_iterations  what iterations took in a recorded run
equal_jobs           jobs that differ in their length alone

Campaigns:

same_campaign        what runs of one campaign have in common, and what simulations assume
seeds                what the seeds of a campaign draw, and what tells its cases apart
input_files          the files that a campaign's jobs read
background_load      a background load, one event at a time
background_actor     the thread that drives it
local_users          the local users as that load uses them
local_bursts         the bursts of local users at nodes shared in time
replay               a run's recorded decisions made again
"""
