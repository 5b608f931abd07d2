"""Ragged columns in memory: their kinds, their canonical form, and conversion from and to awkward 2."""
