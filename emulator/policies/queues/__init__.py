"""Queue disciplines: which job is tried next. One file a discipline."""
