"""Published studies run again: simulations and measured tables, and the claims that each decides.

catalogue            the simulation studies
cases                their simulations
simulation_study     running one
shared_cases         simulations of nodes that jobs share
published_tables     the tables that can be measured again
published_runtimes   the printed numbers
reproduction         measuring a table again
reproduction_rows    its rows beside the published ones

claims               deciding any claim, on simulations or on measurements
statements           how claims are stated: ratios and values, and the ranges where they lie
synthetic_claims     the claims C1 to C12
trace_claims         the claims C13 to C24
reproduction_claims  the claims C25 to C28
placement_claims     the claims C29 to C34, on campaigns
file_claims          the claims C35 to C40, on campaigns
shared_claims        the claims C41 to C48, on simulations
live_shared_claims   the same claims, on recorded runs
campaign_statements  how claims on recorded runs are stated
campaign_runs        recorded runs as claims see them
campaign_claims      deciding claims by recorded runs
"""
