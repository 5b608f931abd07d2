"""Writer of CDL: a checked dataset as text, laid out as ncdump does."""
