"""The figures of reports on runs: each is made of rows worked out from the records, and is drawn from those rows.

figure, drawing              a figure with its data; SVG for a page, and SVG, PNG and CSV as files
reported_run                 a run as figures need it
gantt, utilization, queue_length, background   what happened on the clusters over time
times, time_groups, claiming the times of jobs: distributions, by components and clusters, of the claiming procedure
factors, links               extension factors and their parts; the wide area, asked and measured
run_differences              several runs: distributions side by side, and differences of the same jobs
policy_ratios                several policies over seeds
points                       how these two are drawn: points with intervals
choice                       the figures that a run, or several, have data for
"""
