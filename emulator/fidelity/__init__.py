"""How faithful results are, how pilots choose a dilation, and the arithmetic of calibration.

conditions     the state of host and links while a job ran
processor_use  the use of the host's processors meanwhile
strangers      traffic of others on a job's access links
underlay       what is wrong with the network between hosts
background     how well a background load kept to its band
measures       the measures of a run's faithfulness
thresholds     the limits for them
judgement      how far a result can be trusted, in one word
verdict        the judgement of a job or a run by its measures
topics         what a reason of a verdict is about
pilots         which pilot is needed next, and which dilation suffices
repetition     whether a run counts, is repeated, or needs a larger dilation
attribution    the parts of an extension factor
calibration    solving for the costs in a processor profile
iteration      a model of an iteration
intervals      means, ratios of means and their confidence intervals

All work on plain values: they measure nothing themselves and know no containers. Only ``iteration.table`` reads files.
"""
