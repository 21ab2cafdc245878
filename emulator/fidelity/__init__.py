"""Whether a figure may be believed, and what makes the emulated processors right.

``measures`` says what was measured of a run's faithfulness, ``verdict`` judges it; ``calibration`` solves for what a
processor profile must say. All work on plain values: they measure nothing themselves and know neither containers nor
files.
"""
