"""Phases of a compilation as JSON Lines: tokens, tree, analysis, plan and keys of the target."""
