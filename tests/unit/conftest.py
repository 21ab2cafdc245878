"""Settings of all unit tests: hypothesis sets no deadline, because the machine may be busy.

By default hypothesis tries fewer examples than usual; ``--hypothesis-profile=long`` tries the usual number.
``--hypothesis-profile=fuzz`` is for `tests/unit/broker/test_fuzz.py` alone: more than 100,000 requests, none of which
may take 5 s.
"""

import signal

from hypothesis import settings

from tests.unit.broker_double import broker, stopped, testbed, wide_area
from tests.unit.installed_package import installed
from tests.unit.submitting_thread import submitted_by_a_thread

__all__ = ["broker", "installed", "stopped", "submitted_by_a_thread", "testbed", "wide_area"]

settings.register_profile("gate", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=100)
settings.register_profile("fuzz", deadline=5_000, max_examples=4_500)
settings.load_profile("gate")

# A shell starts background processes with interrupts ignored; tests of interrupts would then never end.
signal.signal(signal.SIGINT, signal.default_int_handler)
