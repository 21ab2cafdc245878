"""The hosts that carry one testbed: their inventory, which cluster goes where, what each lacks, a free subnet. Pure."""
