"""Datasets of any format as stores of zarr-python. May import zarr, and all rooms below."""
