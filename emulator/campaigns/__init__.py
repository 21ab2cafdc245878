"""Runs that hold the testbed - campaigns, measurements, calibrations - and workloads through the simulator.

holding, standing_testbed   taking the testbed for a run and giving it back; the containers behind it
conduct, following          what every run has in common: manifest, records, checks of the links, events as they come
recording, run_directory    the broker's events into rows, and rows into a run's files
statistics, surroundings    means with their intervals; what a manifest says of the host
live, load                  a campaign through the broker, and the subprocess that submits its schedule
input_files, replay         the files that its jobs read; a run's recorded decisions made again
extension                   measuring extension factors, with
    matrix, measured_applications   which cells there are, and what is known of each application
    cell_runs, resuming             running them in turn, and what an earlier attempt has already run
    extension_rows, communication   the rows of factors, and those of communication
    recorded_cells, control_runs    cells as one recorded run, and those with the wide area or the dilation changed
    attribution, invariance         what factors are made of, and whether they hold at twice the dilation
calibration                 measuring what a processor profile is solved from, with
    work, published                 what an application computes in an iteration, and the runtimes that are printed
    profile_files                   the profile into a file
simulated                   a campaign, a job list, a log or a study's stream through the simulator
"""
