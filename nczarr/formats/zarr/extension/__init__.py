"""The `nczarr` member of the four hidden attributes: content beyond plain Zarr."""
