"""Repositories of icechunk: versioned stores of Zarr v3, with native chunks and chunks in other files.

`library.py` loads icechunk and turns its exceptions into ours, `storage.py`
tells it where a repository is, `containers.py` decides which other files may be
read, `sessions.py` opens it, and `session_store.py` is one revision as a store.
"""
