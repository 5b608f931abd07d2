"""Chunks of arrays: grids, keys, indices, shards, tables of places, and reading regions from them."""
