"""Reader of ncstream: files and servers to datasets whose values are decoded on demand."""
