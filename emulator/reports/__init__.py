"""Reports on runs and studies for people: numbers are computed here, and shown as tables, figures and pages.

On runs:

summary                  the numbers of a run, computed from its directory
executions               when the executions of jobs ended, and how long they took
held_processors          how many processors the jobs of a run held
tables                   several runs side by side
figures                  the figures of runs and studies, each with the rows that it is drawn from
run_page                 the page of `report --html`
policies_over_seeds      the policies of a campaign over seeds
communication_tables     the cost of communication as tables
communication_figures    the same as figures
published_communication  the published cost beside it
attribution_tables       the parts of factors, and whether factors hold at twice the dilation
attribution_figure       the parts of factors as a figure
simulation_sweep_files   a sweep of simulations as files

A live run beside simulations of it:

compared_runs                job by job and in all, and beside the spread of live runs
placement_differences        which jobs were placed differently, and why
errors_over_seeds            the error over several seeds
policies_live_and_simulated  the policies of a campaign on both sides, over the seeds that all have
comparison_tables            errors as tables
policy_tables                policies on both sides as tables

On studies and claims:

claim_tables             decided claims and their parts as tables
study_tables             a simulation study's numbers
study_figures            its figure
shared_figures           the figure of the study of non-dedicated clusters
study_pages              the page that holds numbers and figure
study_folders            the results of studies in a folder, read for the page of a report
reproduction_tables      a reproduction's numbers
reproduction_figures     its figure
reproduction_pages       its page

What all of them use:

html_parts               parts of a page in HTML
text                     intervals and tables as text
pictures                 figures as PNG
exports                  runs and topologies in the formats of other tools
"""
