"""Putting a finished target in its place: it grows beside it and is renamed once."""

from __future__ import annotations

import os

_LONGEST_NAME = 255
"""Bytes that a name may have in most file systems."""


def sibling(path: str, word: str) -> str:
    """A new name beside a target, `<name>.<word>-<id>`, cut where a file system would refuse its length."""
    folder, name = os.path.split(path)
    end = f".{word}-{os.urandom(4).hex()}"
    begin = os.fsdecode(os.fsencode(name)[: _LONGEST_NAME - len(end)])
    return os.path.join(folder, begin + end)


def put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    """Rename a finished file or folder to its final name; with `overwrite` an old one steps aside and is removed.

    Raises OSError, FileExistsError if an old one may not be overwritten; then it is left as it was.
    """
    if not os.path.lexists(target):
        os.rename(partial, target)
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists")
    if not os.path.isdir(partial) and (os.path.islink(target) or not os.path.isdir(target)):
        os.replace(partial, target)  # a file for a file: at no moment is there none
        return
    aside = sibling(target, "replaced")
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
