"""How faithful results are, and how processor profiles are calibrated.

conditions, processor_use   the state of host and links while a job ran
strangers                   traffic of others on a job's access links
measures, thresholds        the measures of a run's faithfulness, and the limits for them
verdict                     the judgement of a job or a run by its measures
attribution                 the parts of an extension factor
calibration                 solving for the costs in a processor profile
intervals                   means, ratios of means and their confidence intervals

All work on plain values: they measure nothing themselves and know neither containers nor files.
"""
