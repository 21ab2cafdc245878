"""Published studies run again: simulations and measured tables, and the claims that each decides.

catalogue, cases, simulation_study   the simulation studies, their simulations, and running one
published_runtimes, published_tables the printed numbers, and the tables that can be measured again
reproduction, reproduction_rows      measuring a table again, and its rows beside the published ones
claims                               deciding any claim, on simulations or on measurements
statements                           how claims are stated: ratios and values, and the ranges where they lie
synthetic_claims, trace_claims, reproduction_claims   the claims C1 to C12, C13 to C24, C25 to C28
shared_cases, shared_claims          simulations of nodes that jobs share, and the claims C41 to C48
placement_claims, file_claims        the claims C29 to C34 and C35 to C40, on campaigns
campaign_claims, campaign_runs, campaign_statements   deciding those by recorded runs, and how they are stated
"""
