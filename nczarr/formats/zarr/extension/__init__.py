"""The four hidden attributes: their writer, and our extension in them, content beyond plain Zarr."""
