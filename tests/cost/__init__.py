"""Cost of operations: processor time, memory and bytes read, held against what an operation must touch."""
