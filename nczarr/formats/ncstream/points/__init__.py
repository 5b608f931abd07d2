"""Streams of points: collections and features, read as datasets and written from variables of records."""
