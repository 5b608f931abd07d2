"""Lexers of Pygments for CDL and the NCZarr notation, found by their entry points. Pygments is not required."""
