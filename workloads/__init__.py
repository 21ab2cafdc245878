"""Job streams: arrival times, requests, and the load generator that submits them.

campaign, job_choices          the document that describes a campaign, and jobs drawn from a list of choices
schedule, locustfile           the jobs of a campaign and a seed with arrival times, and their submission
stated_jobs                    its jobs where it takes them from a list or a log
job_lengths                    how long its jobs are: drawn times, iterations, the time scale
campaign_stream                the same jobs for the simulator
distributions                  random numbers, with a separate stream for each quantity
sizes, compositions, splitting, service_times, das_log, job_mix, application_mixes, poisson_stream
                               the streams of the published simulation studies
job_lists, swf, swf_stream     jobs from files: JSON lines, and logs in the Standard Workload Format
json_lines, whole_files        files of JSON lines read, and files that are written completely or not at all

The campaigns that come with the testbed are in ``campaigns/``, published measurements in ``reference/``.
"""
