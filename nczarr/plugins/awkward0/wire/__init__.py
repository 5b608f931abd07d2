"""Storage layer of Awkward 0.x persistence: documents, blobs, element types and containers."""
