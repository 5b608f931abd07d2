"""The Zarr v3 core protocol in its 2019 draft, with the netCDF model in a protocol extension.

It is not the final Zarr v3 (`zarr3`): documents are below `meta/`, chunks below
`data/`.
"""
