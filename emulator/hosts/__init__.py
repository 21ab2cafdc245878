"""Several hosts that carry one testbed: their inventory, which cluster goes where, and what each lacks. Pure."""
