"""Reader of ncstream files and servers; values are decoded on demand."""
