"""Stores: bytes by key, in memory and in folders; single files beside them."""
