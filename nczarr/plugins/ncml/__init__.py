"""NcML: documents that change, join and unite other datasets."""
