"""Files that the HDF5 library opens for a file, by links and external storage, and whether they may be read."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nczarr import registry
from nczarr.diagnostics.report import HEAD
from nczarr.options import Following
from nczarr.plugins.common.external_links import list_external_files
from nczarr.stores import local_paths
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy
from nczarr.stores.url import is_remote

DEEPEST = 16
"""Maximum depth of files that name further files."""

PREFIXES = ("HDF5_EXT_PREFIX", "HDF5_VDS_PREFIX", "HDF5_EXTFILE_PREFIX")
"""Environment variables with HDF5's search prefixes."""


LINKING = ("netcdf4",)
"""Formats whose library opens other files for a file."""


def find_forbidden(path: str, following: Following) -> str | None:
    """Return the first name in a file, or in a file it leads to, that may not be read; None if all may.

    Raises OSError.
    """
    pending, seen = [(path, 0)], {local_paths.real(path)}
    while pending:
        place, depth = pending.pop()
        for name in list_external_files(place):
            if depth == DEEPEST or "\0" in name or name == "?":
                return str(name)
            for found in _list_places(place, name):
                real = local_paths.real(found)  # as the system goes: a link first, and then `..`
                try:
                    Policy(local_paths.parent_of(place), following).follow(real)
                except ForbiddenTargetError:
                    return str(name)
                if real not in seen and os.path.isfile(real):
                    seen.add(real)
                    pending.append((real, depth + 1))
    return None


def _list_places(file: str, name: str) -> Iterator[str]:
    """Yield the places where HDF5 looks for a named file.

    These are beside the naming file; if it exists, also the working directory
    and the prefixes of the environment; and the last part of a missing absolute
    path.
    """
    home = local_paths.parent_of(file)
    yield local_paths.join(home, name)
    prefixes = [each for variable in PREFIXES for each in os.environ.get(variable, "").split(os.pathsep) if each]
    folders = [home, os.getcwd(), *(each.replace("${ORIGIN}", home) for each in prefixes)]
    for found in (local_paths.join(folder, part) for folder in folders for part in (name, local_paths.name_of(name))):
        if os.path.lexists(found):
            yield found


def find_forbidden_link(place: str, following: Following) -> str | None:
    """Return the first name in a local file that may not be read, if the run names its roots. Raises OSError."""
    if not following.roots or is_remote(place) or not os.path.isfile(place):
        return None
    with open(place, "rb") as file:
        form = registry.detect(place, file.read(HEAD))
    return None if form is None or form.name not in LINKING else find_forbidden(place, following)
