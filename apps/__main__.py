"""`python3 -m apps APPLICATION ...`: runs one rank of an application."""

import os
import sys

# One rank stands for one processor: a threaded numerical library would take the others' share of the host.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from apps.run import main

if __name__ == "__main__":
    sys.exit(main())
