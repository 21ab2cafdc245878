"""Job streams: what arrives when, what it asks for, and the load generator that submits it.

campaign, job_choices          the document that describes a stream, and jobs drawn from a list of choices
schedule, locustfile           a campaign and a seed into jobs with arrival moments, and their submission at those
campaign_stream                the same jobs for the simulator
distributions                  numbers drawn, each quantity from a stream of its own
sizes, compositions, splitting, service_times, das_log, job_mix, application_mixes, poisson_stream
                               the streams of the published simulation studies
job_lists, swf, swf_stream     jobs from files: JSON lines, and logs in the Standard Workload Format
whole_files                    files that appear whole or not at all

The campaigns that come with the testbed lie in ``campaigns/``, published measurements in ``reference/``.
"""
