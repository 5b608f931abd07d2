"""Stores (bytes by key) in memory and folders, and single files."""
