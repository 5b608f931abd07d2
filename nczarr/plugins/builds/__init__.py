"""Manners of a tool in a build: `--depfile`, `--if-changed` and `--watch` of `compile`, `convert` and `rechunk`."""
