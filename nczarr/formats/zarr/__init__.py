"""The family of Zarr formats: what they share (`core/`, `extension/`), and one folder a format."""
