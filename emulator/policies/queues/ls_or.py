"""LS-OR: local schedulers visited in one fixed order, the same queue always first."""

from __future__ import annotations

from emulator.policies.queues.local_schedulers import LocalSchedulers


class LocalSchedulersOrdered(LocalSchedulers):
    """Queues in order of index."""
