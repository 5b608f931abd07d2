"""Writer of CDL: a checked dataset as text in ncdump's layout."""
