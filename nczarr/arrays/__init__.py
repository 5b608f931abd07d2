"""Format-independent data plane: array sources, manifests, parts."""
