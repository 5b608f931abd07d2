"""Texts that people write, for editors and highlighters: names with their roles, lexemes, words."""
