"""Operation of a server: access log, metrics, several processes."""
