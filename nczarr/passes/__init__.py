"""Semantic passes: pure functions from tree to tree, one file each, in the order of the schedule below."""
