"""The `nczarr` member: what plain Zarr cannot say, inside the four hidden attributes."""
