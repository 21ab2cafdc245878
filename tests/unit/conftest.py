"""Settings of all unit tests: hypothesis judges what a test finds, not how busy the machine is."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
