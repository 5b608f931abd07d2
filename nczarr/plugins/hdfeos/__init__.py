"""HDF-EOS5: dimension names of swaths, grids, points and zonal averages, from the file's own description."""
