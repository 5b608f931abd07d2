"""Writer of DAP2: declarations, attributes, constraints, values."""
