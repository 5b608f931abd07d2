"""Comparison of datasets of any formats."""
