"""ESRI ASCII grids for nczarr."""
