"""Measuring extension factors: a matrix of cells, its control runs, and the parts of each factor.

extension                measuring a matrix: the same jobs in one cluster and spread over several
communication            border exchange, totals and data rates from the finished jobs
control_runs             the runs beside the measurement's own
attribution, invariance  the parts of factors, and whether factors hold at twice the dilation
"""
