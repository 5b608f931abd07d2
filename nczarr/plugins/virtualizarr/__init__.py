"""Parser of every format for VirtualiZarr."""
