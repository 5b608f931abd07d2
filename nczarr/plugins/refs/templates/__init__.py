"""Templates and generators of reference documents: their expressions, evaluated, and their entries."""
