"""The figures of reports: each is made of rows worked out from records, and is drawn from those rows.

figure            a figure with its data
drawing           how figures look, and how they become files
reported_run      a run as figures need it
gantt             which job held the processors of each cluster when
utilization       how the processors were used over time
queue_length      how many jobs waited over time
background        the background load over time
times             the distributions of the times of jobs
time_groups       these times by components and by clusters
claiming          what the claiming procedure did
factors           extension factors and their parts
links             the wide area, asked and measured
run_differences   several runs of the same jobs: the differences of their times
overlaid          a live run and simulations of it in one figure
compared_folders  live runs and simulations of them over seeds
policy_ratios     several policies over seeds
points            points with intervals, as the last ones are drawn
study             what a study found
choice            the figures that a run, or several, have data for
"""
