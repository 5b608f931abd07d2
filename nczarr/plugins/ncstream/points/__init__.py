"""Point streams: collections and features, read as datasets and written from record variables."""
