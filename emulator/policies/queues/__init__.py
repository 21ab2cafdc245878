"""Queue disciplines, which decide which job is tried next; one file per family."""
