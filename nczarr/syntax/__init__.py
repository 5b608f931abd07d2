"""Syntax: generated parsers, with their listeners and token sources."""
