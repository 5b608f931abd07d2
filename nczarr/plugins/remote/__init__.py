"""Remote places: buckets, web servers and every other protocol that fsspec knows."""
