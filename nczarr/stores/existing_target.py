"""What stands in the way of a target: what `--overwrite` may replace, and what it must not touch."""

from __future__ import annotations

import os
import stat

from nczarr.stores.base import ROOT_KEYS


def obstacle(path: str, *, store: bool) -> str | None:
    """Why what stands at `path` is not replaced, in words that follow the name; None if it may be.

    A file makes way for any target, a link as such, an empty folder or one that is a store for another store. A
    folder of anything else may be somebody's home. Raises OSError if the place cannot be looked at.
    """
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return None
    if not stat.S_ISDIR(mode):
        return "is neither a file nor a folder"
    if not store:
        return "is a folder"
    held = os.listdir(path)
    if held and not set(ROOT_KEYS).intersection(held):
        return "is a folder with other things than a store in it"
    return None
