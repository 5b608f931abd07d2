"""Zarr formats: common code in `core/` and `extension/`, one folder for each format."""
