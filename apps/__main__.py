"""`python3 -m apps APPLICATION ...`: runs one rank of an application."""

from apps.start import single_threaded

single_threaded.set_environment()

from apps.run import main  # noqa: E402 - what it imports reads the environment
from apps.start.ending import leave  # noqa: E402

if __name__ == "__main__":
    leave(main())
