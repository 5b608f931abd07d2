"""Ragged columns in memory: node types, canonical form, and conversion from and to Awkward 2."""
