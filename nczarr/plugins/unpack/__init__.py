"""Packed variables as the numbers that they stand for: in files, stores and combinations."""
