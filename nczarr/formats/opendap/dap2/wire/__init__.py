"""The protocol's words: types, and the encoding of values (XDR)."""
