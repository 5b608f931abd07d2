"""Datasets without groups, as CF's netcdf-flattener makes them, and the way back to the groups."""
