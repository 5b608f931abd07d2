"""Writer of Awkward 0.x persistence: columns and datasets to documents and blobs."""
