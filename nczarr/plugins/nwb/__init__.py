"""Neurodata Without Borders files, copied between HDF5 and Zarr with their references and links."""
