"""Files that lead to other files: whether all of these may be read for a client.

References of documents are looked at where they are opened (`stores/reference_policy.py`); what an HDF5 file names is
opened by the library, so it is looked at before. The same roots are allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nczarr.options import Following
from nczarr.registry import load
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy

DEEPEST = 16
"""Files that lead to one another that are looked at."""

PREFIXES = ("HDF5_EXT_PREFIX", "HDF5_VDS_PREFIX", "HDF5_EXTFILE_PREFIX")
"""Variables of the environment that say where HDF5 looks first."""


def forbidden(path: str, leads_to: str, following: Following) -> str | None:
    """Return the name of a file that a file, or one that it leads to, may not name; None if all may be read.

    `leads_to`: the function of its format that lists names of files. Raises OSError.
    """
    pending, seen = [(path, 0)], {os.path.realpath(path)}
    while pending:
        place, depth = pending.pop()
        for name in load(leads_to)(place):
            if depth == DEEPEST or "\0" in name or name == "?":
                return str(name)
            for found in _places(place, name):
                real = os.path.realpath(found)  # as the system goes: a link first, and then `..`
                try:
                    Policy(os.path.dirname(place), following).follow(real)
                except ForbiddenTargetError:
                    return str(name)
                if real not in seen and os.path.isfile(real):
                    seen.add(real)
                    pending.append((real, depth + 1))
    return None


def _places(file: str, name: str) -> Iterator[str]:
    """Where HDF5 looks for a file that another one names: beside it; if it is there, where the process is, and below
    the prefixes that the environment gives; and for the last part of an absolute path, if there is nothing at that.
    """
    home = os.path.dirname(file)
    yield os.path.join(home, name)
    prefixes = [each for variable in PREFIXES for each in os.environ.get(variable, "").split(os.pathsep) if each]
    folders = [home, os.getcwd(), *(each.replace("${ORIGIN}", home) for each in prefixes)]
    for found in (os.path.join(folder, part) for folder in folders for part in (name, os.path.basename(name))):
        if os.path.lexists(found):
            yield found
