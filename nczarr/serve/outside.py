"""Files that lead to other files: whether all of these may be read for a client.

References of documents are looked at where they are opened (`stores/following.py`); what an HDF5 file names is opened
by the library, so it is looked at before. The same roots are allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nczarr.options import Following
from nczarr.stores.following import ForbiddenTargetError, Policy

DEEPEST = 16
"""Files that lead to one another that are looked at."""


def forbidden(path: str, following: Following) -> str | None:
    """A name of a file that a netCDF-4 file, or one that it leads to, has and may not have; None if all may be read.

    Raises OSError.
    """
    from nczarr.registry import load

    pending, seen = [(path, 0)], {os.path.realpath(path)}
    while pending:
        place, depth = pending.pop()
        for name in load("nczarr.formats.netcdf4.leading:leading")(place):
            if depth == DEEPEST or "\0" in name or name == "?":
                return str(name)
            for found in _places(place, name):
                try:
                    Policy(os.path.dirname(place), following).follow(found)
                except ForbiddenTargetError:
                    return str(name)
                real = os.path.realpath(found)
                if real not in seen and os.path.isfile(real):
                    seen.add(real)
                    pending.append((real, depth + 1))
    return None


def _places(file: str, name: str) -> Iterator[str]:
    """Where HDF5 looks for a file that another one names: beside it, and where the process is, if it is there."""
    yield os.path.join(os.path.dirname(file), name)
    here = os.path.abspath(name)
    if os.path.lexists(here):
        yield here
