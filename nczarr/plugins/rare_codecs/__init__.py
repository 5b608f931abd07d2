"""Codecs that are only read, and that few stores have: those of numcodecs for numbers and texts, two of Zarr v3."""
