"""Contracts: a schema, and what its comments say about which deviations a dataset may have.

`reading` finds the comments, also those of NCEI's templates, `rules` parses them, `judge` compares a dataset with
the contract, `values` the values of its variables, and `draft` makes a contract from examples.
"""
