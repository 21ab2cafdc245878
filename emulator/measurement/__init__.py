"""Measuring extension factors: a matrix of cells, its control runs, and the parts of each factor.

extension          measuring a matrix: the same jobs in one cluster and spread over several
dilation_sessions  the sessions of a measurement, one for each dilation
communication      border exchange, totals and data rates from the finished jobs
control_runs       the runs beside the measurement's own
attribution        the parts of factors
invariance         whether factors hold at twice the dilation
beside_model       what iterations took, beside what the model predicts
"""
