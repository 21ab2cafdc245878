"""Run one rank of an application: `python3 -m apps APPLICATION ...`."""

from apps.start.mpi import leave, use_one_thread

use_one_thread()

from apps.run import main  # noqa: E402 - what it imports reads the environment

if __name__ == "__main__":
    leave(main())
