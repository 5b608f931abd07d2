"""JSON with positions: a strict reader, a tolerant reader, and the place of each value."""
