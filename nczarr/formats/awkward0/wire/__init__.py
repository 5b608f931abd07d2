"""Awkward 0.x persistence as it is stored: documents, blobs, element types, and the containers that hold them."""
