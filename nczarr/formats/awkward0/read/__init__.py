"""Reader of Awkward 0.x persistence: documents and blobs to columns, and columns to a dataset."""
