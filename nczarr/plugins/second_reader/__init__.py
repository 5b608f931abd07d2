"""Targets read by the library of their format as well (`--verify`)."""
