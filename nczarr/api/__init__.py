"""Objects and functions that a Python caller holds: datasets, builders, `convert`, `combine`, `diff`, `digest`.

Uses the pipeline and every room below it. The public names of `nczarr` are loaded from here.
"""
