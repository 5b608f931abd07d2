"""Running work: threads, processes, locks, deadlines, and counts of a run."""
