"""Zarr formats: shared code in `core/` and `extension/`, and a folder for each format."""
