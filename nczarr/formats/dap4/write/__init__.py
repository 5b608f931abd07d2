"""Writer of DAP4: documents (DMR), constraints, values and their chunks."""
