"""Python API: datasets, builders, `convert`, `write`, `combine`, `diff`, `digest`.

The public names of `nczarr` are loaded from here.
"""
