"""What records and studies say, for people: figures are computed here, tables and pictures made of them.

summary                      the figures of a run, computed from its directory
tables                       several runs side by side
communication_tables, communication_figures, published_communication
                             what communication costs, beside what was published of it
attribution_tables, attribution_figure
                             what factors are made of, and whether they hold at twice the dilation
study_tables, study_figures, study_pages
                             a simulation study's numbers, its figure, and the page that holds both
intervals, pictures          a value with its interval; figures as PNG
exports                      what the testbed knows, in the formats of other tools
"""
