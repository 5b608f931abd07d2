"""Syntax: the generated parsers, and the listeners and token sources that feed them."""
