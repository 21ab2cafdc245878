"""Whether a figure may be believed: ``measures`` says what was measured of a run's faithfulness, ``verdict`` judges it.

Both work on plain values: they measure nothing themselves and know neither containers nor files.
"""
