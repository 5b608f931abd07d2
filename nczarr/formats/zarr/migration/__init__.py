"""Migration of a store in place: its documents in another format, with the chunks, keys and codecs that it has.

`array_document.py` translates the description of one array from Zarr v2 to v3,
`documents.py` makes the documents of a store. Attributes of formats without
netCDF-C's metadata stay as their JSON is; others come from the back end of the
target.
"""
