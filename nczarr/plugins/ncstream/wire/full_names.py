"""Full names of the Common Data Model: without a leading slash, and with a dot before a member."""

import re
from collections.abc import Iterable

from nczarr.names import split

_NEEDS = re.compile(r"[\\/.]")


def cdm_full_name(path: str, members: Iterable[str] = ()) -> str:
    """Return the Common Data Model's full name of a FQN, or of a member of it: `g1/temp`, `g1/obs.day`.

    Dots, backslashes and slashes in names get a backslash; names of that model
    contain no slashes.
    """
    group = "/".join(_NEEDS.sub(r"\\\g<0>", name) for name in split(path))
    return ".".join([group, *(_NEEDS.sub(r"\\\g<0>", name) for name in members)])
