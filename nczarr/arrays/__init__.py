"""The data plane's own words: array sources, manifests, parts. It knows arrays, never formats."""
