"""Array sources: values in memory, in files and behind servers, and sources made of other sources."""
