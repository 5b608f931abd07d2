"""Putting a finished target in its place: it grows beside it and is renamed once."""

from __future__ import annotations

import os


def put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    """Rename a finished file or folder to its final name; with `overwrite` an old one steps aside and is removed.

    Raises OSError, FileExistsError if an old one may not be overwritten; then it is left as it was.
    """
    if not os.path.lexists(target):
        os.rename(partial, target)
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists")
    aside = f"{target}.replaced-{os.urandom(4).hex()}"
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except OSError:
        os.rename(aside, target)
        raise
    _remove(aside)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)
