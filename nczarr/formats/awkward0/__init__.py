"""Awkward 0.x persistence: JSON expressions over named blobs (contract: awkward0-persistence)."""
