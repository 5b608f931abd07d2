"""Contracts: a schema, and what its comments say about which deviations a dataset may have.

`places` finds the comments, `rules` and `reading` parse them, `template` those of NCEI's templates, `judge` compares
a dataset with the contract, `values` the values of its variables, and `draft` makes a contract from examples.
"""
