"""N5: stores of microscopy, read as the stores of Zarr that they stand for."""
