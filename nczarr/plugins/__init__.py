"""Plugins: formats, commands, checks and interfaces that the compiler works without, one folder each."""
