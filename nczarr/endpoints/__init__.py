"""The two ends of a run: which source a path names, and which target of which format may be made where.

Uses the registry and the stores. `pipeline` reads from and writes to what is found here.
"""
