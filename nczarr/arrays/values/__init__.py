"""Values of every type as arrays: columnar trees of nested values, element types, C structs, units of time."""
