"""Comparing datasets, whatever their formats."""
