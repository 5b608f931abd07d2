"""DMR and data responses → datasets, from files and from servers."""
