"""Adapters for other libraries: xarray, zarr-python, VirtualiZarr, and Hypothesis strategies for tests."""
