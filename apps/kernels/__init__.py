"""The compiled updates of the applications: Cython sources, compiled ahead of time by `build`."""
