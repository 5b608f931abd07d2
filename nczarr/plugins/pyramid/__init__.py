"""Overviews of arrays: pyramids with the metadata of GeoZarr and OME-Zarr."""
