"""Known faults of other readers, and what conventions and layouts demand: `check --for`."""
