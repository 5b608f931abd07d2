"""Writer of ncstream: the header and the messages of a dataset."""
