"""JSON with positions: a strict reader, a tolerant reader, and where each value stands in the text."""
