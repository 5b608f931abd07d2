"""Codecs: their names and parameters, encoding, decoding, and bounds of their output."""
