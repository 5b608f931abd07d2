"""The `nczarr` member of the four hidden attributes: content that plain Zarr cannot express."""
