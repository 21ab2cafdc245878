"""The same SWF file through AccaSim: first in, first out, first fit, on one cluster.

AccaSim writes into a folder of its own, so it runs in a process and a directory of its own, and prints the host seconds
of its simulation: ``python -m tests.bench.accasim_program FILE.swf PROCESSORS``.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import sys
import time
from pathlib import Path


def run(swf: Path, processors: int) -> float:
    """Processor seconds that AccaSim takes for the jobs in `swf`."""
    # AccaSim was written for a Python that still had these names here.
    for name in ("Mapping", "MutableMapping", "Iterable", "Sequence", "Callable"):
        setattr(collections, name, getattr(collections.abc, name))
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    system = Path("system.json")
    system.write_text(json.dumps({"groups": {"node": {"core": 2, "mem": 1}}, "resources": {"node": processors // 2}}))
    simulator = Simulator(
        str(swf),
        str(system),
        FirstInFirstOut(FirstFit()),
        scheduling_output=False,
        statistics_output=False,
        show_statistics=False,
        LOG_LEVEL="CRITICAL",
    )
    host_began_s = time.process_time()
    simulator.start_simulation()
    return time.process_time() - host_began_s


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), int(sys.argv[2])))
