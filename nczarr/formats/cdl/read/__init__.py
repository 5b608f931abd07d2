"""Reader of CDL: bytes to tokens, statements to the unchecked tree."""
