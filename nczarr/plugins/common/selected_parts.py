"""Parts of a variable with the cells of a region."""

from __future__ import annotations

from nczarr.arrays.regions import Region
from nczarr.arrays.sources.sliced import slice_parts
from nczarr.arrays.sources.source import Parts
from nczarr.semantics.checked import Checked, whole_parts


def select_parts(checked: Checked, path: str, ranges: Region) -> Parts:
    """Return sources of all parts of a variable with exactly these cells; missing ones are fill."""
    parts = whole_parts(checked, path)
    whole = tuple(map(range, checked.shapes[path]))
    if ranges == whole:
        return parts
    return slice_parts(checked.variables[path].type, ranges, parts, checked.types)
