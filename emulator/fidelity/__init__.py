"""Whether a figure may be believed, and what makes the emulated processors right.

``conditions`` sums up what was seen while a job ran, ``measures`` says what was measured of a run's faithfulness,
``verdict`` judges it by the ``thresholds``; ``attribution`` says what a factor is made of, ``invariance`` when one does
not hold at twice the dilation; ``plan`` predicts what a run will ask of the host; ``calibration`` solves for what a
processor profile must say. All work on plain values: they measure nothing themselves and know neither containers nor
files.
"""
