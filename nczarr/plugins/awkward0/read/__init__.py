"""Reader of Awkward 0.x persistence: documents and blobs to columns, columns to a dataset."""
