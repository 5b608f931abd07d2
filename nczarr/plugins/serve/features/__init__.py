"""Features of datasets as CDM Remote sends them: samples at places and times, and coverages."""
