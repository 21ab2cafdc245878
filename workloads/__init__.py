"""Job streams: arrival times, requests, and the load generator that submits them.

Campaigns:

campaign           the document that describes a campaign
job_choices        its jobs, drawn from a list of choices
stated_jobs        its jobs, where it takes them from a list or a log
job_lengths        how long its jobs are: drawn times, iterations, the time scale
schedule           its jobs under a seed, with arrival times
home_queues        the local queue of each job
campaign_stream    the same jobs for the simulator
custom_sources     the sources of a user's policies, which a campaign carries
locustfile         the load generator, which submits a schedule

Other users:

local_jobs         the jobs of local users, who know nothing of the grid
local_users        at which nodes local users work

The streams of the published studies:

distributions      random numbers, with a separate stream for each quantity
sizes              the sizes of jobs and components
splitting          a total split into components
service_times      execution times
das_log            jobs like those in the log of the first DAS
compositions       the synthetic job streams
job_mix            the classes of jobs in a stream
application_mixes  mixes of the measured applications
poisson_stream     a stream of the jobs of a mix
parallel_programs  parallel programs on non-dedicated clusters
shared_node_jobs   jobs for nodes that several jobs share

Jobs from files:

job_lists          job lists of JSON lines, and the outcomes of their jobs
json_lines         files of JSON lines read, each line with its place
swf                the Standard Workload Format, read and written
swf_stream         a log in that format as jobs to simulate
estimates          users' estimates, drawn for jobs without one

The campaigns that come with the testbed are in ``campaigns/``, published measurements in ``reference/``.
"""
