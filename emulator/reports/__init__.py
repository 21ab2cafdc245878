"""Reports on runs and studies for people: numbers are computed here, and shown as tables, figures and pages.

summary                      the numbers of a run, computed from its directory
tables                       several runs side by side
communication_tables, communication_figures, published_communication
                             the cost of communication, beside the published one
attribution_tables, attribution_figure
                             the parts of factors, and whether factors hold at twice the dilation
study_tables, study_figures, study_pages
                             a simulation study's numbers, its figure, and the page that holds both
figures                      the figures of a run and of several runs, each with the rows that it is drawn from
run_page, html_parts         the page of `report --html`
compared_runs, placement_differences, comparison_tables
                             a live run beside simulations of it
policies_over_seeds          the policies of a campaign over seeds
study_folders                the results of studies in a folder, for that page
text, pictures               intervals and tables as text; figures as PNG
exports                      runs and topologies in the formats of other tools
"""
