"""Awkward 0.x persistence: JSON expressions over named blobs (contract: awkward0-persistence).

A dataset is an archive (`.awkd`) or other store of named arrays.
`nczarr.awkward0` is the API for single arrays.
"""
