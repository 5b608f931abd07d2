"""Key paths of nodes in targets with escaped key segments (`arrays/key_segments.py`).

Siblings are the variables and groups of a group, or the parts of a variable. Earlier siblings retain their
names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nczarr import names
from nczarr.arrays.key_segments import LONGEST, paths, segments
from nczarr.arrays.parts import is_fixed, parts
from nczarr.ast.walk import groups
from nczarr.check.checked import Checked

LONGEST_IN_FILES = 255 - len(".array.json")
"""Maximum length of a segment whose document is a file: file names have at most 255 bytes."""

Places = dict[tuple[str, str], str]
"""Key prefixes of nodes, by FQN of the variable or group, and path of the part or of a group within it."""


def placed(checked: Checked) -> Places:
    """Return the key prefixes of all nodes; names with a slash are refused elsewhere."""
    found: Places = {("/", ""): ""}
    for path, group in groups(checked.dataset):
        above = found[path, ""]
        children = [*(variable.name for variable in group.variables), *(child.name for child in group.groups)]
        for name, segment in segments(children).items():
            found[names.join(path, name), ""] = f"{above}{segment}/"
        for variable in group.variables:
            if variable.type == "string" or is_fixed(variable.type, checked.types):
                continue
            fqn = names.join(path, variable.name)
            own = parts(variable.type, checked.shapes[fqn], checked.types)
            for part, place in paths(each.path for each in own).items():
                found[fqn, part] = f"{found[fqn, '']}{place}/"
    return found


def long_segments(places: Mapping[tuple[str, str], str], longest: int = LONGEST) -> Iterator[tuple[str, str, str]]:
    """Yield FQN, part and segment of nodes with too long segments."""
    for (path, part), place in places.items():
        segment = place[:-1].rpartition("/")[2]
        if len(segment) > longest:
            yield path, part, segment
