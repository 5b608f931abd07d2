"""Protocols of the server: each makes the answers to the requests of one protocol from an open dataset."""
