"""Comparison of a dataset with the print of netcdf-c's ncdump, which its own client of OPeNDAP made.

The rule: each variable of the print has its counterpart, with equal values, shape and attributes, and nothing is left
over on either side. What netcdf-c changes is undone or made alike:

- members of structures and sequences are variables `a.b`; a list is a dimension before the member's own;
- strings are chars, padded with NULs and cut at the length of a dimension `maxStrlen…`, or `DODS.strlen` of the DAS;
- unsigned integers of DAP2 print as signed ones of the same bits;
- several texts of an attribute are joined by line ends; numbers print with 7 or 15 digits, or by `C_format`;
- names keep `%20` in the print, and words of CDL are not escaped in it;
- maps of grids that no variable outside of the grid repeats are omitted, with their attributes; so are all maps of a
  grid in a structure, whose array has the name of the grid;
- `DODS_EXTRA.Unlimited_Dimension` is an attribute, here it is the property of the dimension;
- names of types are not compared, only members are;
- an opaque value has 16 bytes, or what is beyond is NUL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

import nczarr

OWN = ("_edu.ucar.maps",)
"""Attributes that netcdf-c adds."""


def flat(dataset: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return the values of all variables: members of records by path, lists as dimensions."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    for group in (dataset, *_groups(dataset)):
        for variable in group.variables.values():
            for path, values in _members(variable.path.lstrip("/"), np.asarray(variable[...])):
                found[unquote(path).replace("\\", "")] = values
    return found


def _print(path: Path) -> Any:
    """Return the dataset of a print, in which words of CDL become names."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    parts = re.split(r'("(?:\\.|[^"\\])*")', text)
    parts[::2] = [re.sub(r"(?<![\w.])(long|unlimited)(?= =|[(),:]| ;)", r"\1__", part) for part in parts[::2]]
    return nczarr.from_cdl("".join(parts))


def _groups(group: Any) -> Iterator[Any]:
    for each in group.groups.values():
        yield each
        yield from _groups(each)


def _members(path: str, values: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if values.dtype == object and values.size and all(isinstance(each, np.ndarray) for each in values.flat):
        cells = list(values.flat)
        if len({len(each) for each in cells}) > 1:
            yield path, np.array([str(each.tolist()) for each in cells])  # lists of several lengths
            return
        values = np.stack(cells).reshape(*values.shape, *cells[0].shape)
    if values.dtype.names:
        for name in values.dtype.names:
            yield from _members(f"{path}.{name}", values[name])
    else:
        yield path, values


def differences(print_path: Path, path: Path) -> list[str]:
    """Return what differs between a print and the dataset at a path, as sentences; empty if they are equal."""
    theirs, ours = _print(print_path), nczarr.open(path)
    mine, other = (
        flat(ours),
        {name.replace("__", "") if "__" in name[-2:] else name: x for name, x in flat(theirs).items()},
    )
    omitted = set(_omitted(ours, mine, other))
    for name in omitted:
        del mine[name]
    found = [f"`{name}` is not in the print" for name in mine.keys() - other.keys()]
    found += [f"`{name}` is in the print alone" for name in other.keys() - mine.keys()]
    for name in sorted(mine.keys() & other.keys()):
        problem = _unequal(mine[name], other[name], _format(theirs, name))
        if problem:
            found.append(f"`{name}`: {problem}")
    one, two = dict(_attributes(ours)), dict(_attributes(theirs))
    extra = two.pop("DODS_EXTRA.Unlimited_Dimension", None)
    if extra is not None and one.pop("DODS_EXTRA.Unlimited_Dimension", None) != extra:
        found += [] if ours.dimensions[extra].unlimited else [f"dimension `{extra}` is not unlimited"]
    for name in sorted(one.keys() | two.keys()):
        if name not in two and name.partition(".")[0] in omitted:
            continue
        if name not in one or name not in two:
            found.append(f"attribute `{name}` is in {'the print' if name in two else 'our tree'} alone")
        elif not _same_attribute(one[name], two[name]):
            found.append(f"attribute `{name}` is {one[name]!r:.80}, and {two[name]!r:.80} in the print")
    return found


def _omitted(ours: Any, mine: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Yield the names of maps that the print omits; the array of a grid in a structure gets the name of the grid."""
    for variable in ours.variables.values():
        name = variable.path.lstrip("/").replace("\\", "")
        if name not in other and len(variable.shape) == 1 and variable.dimensions == (f"/{name}",):
            yield name
    for name in other.keys() - mine.keys():
        members = [each for each in mine if each.rpartition(".")[0] == name]
        arrays = [each for each in members if mine[each].shape == other[name].shape]
        if len(arrays) == 1:
            mine[name] = mine.pop(arrays[0])
            yield from (each for each in members if each != arrays[0] and mine[each].ndim == 1)


def _format(dataset: Any, name: str) -> str | None:
    try:
        return dataset["/" + name].attributes.get("C_format")
    except KeyError:
        return None


def _unequal(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any], c_format: str | None) -> str | None:
    if two.dtype.kind == "V" and one.dtype == np.uint8:  # opaque values, padded
        width = two.dtype.itemsize
        one = np.ascontiguousarray(np.pad(one, [(0, 0)] * two.ndim + [(0, width - one.shape[-1])])).view(two.dtype)[
            ..., 0
        ]
    one, two = (x.astype(object) if x.dtype.kind == "U" else x for x in (one, two))
    if one.dtype.kind == "O" and two.dtype.kind in "SO":
        if two.dtype == "S1":  # the last dimension has the letters
            width = two.shape[-1] if two.ndim > one.ndim else 1
            two = two if two.ndim > one.ndim else two[..., None]
            two = np.ascontiguousarray(two).view(f"S{width}")[..., 0]
            one = np.array([_bytes(each)[:width] for each in one.flat], f"S{width}").reshape(one.shape)
        else:
            one, two = (np.array([_bytes(each) for each in x.flat]).reshape(x.shape) for x in (one, two))
    if one.shape != two.shape:
        return f"shape {one.shape}, and {two.shape} in the print"
    if one.dtype.kind == "f" and two.dtype.kind == "f":
        if c_format:
            return None if [c_format % x for x in one.flat] == [c_format % x for x in two.flat] else "values differ"
        digits = 7 if one.dtype.itemsize == 4 else 15
        for x, y in zip(one.flat, two.flat, strict=True):
            if f"{x:.{digits}g}" != f"{y:.{digits}g}" and not math.isclose(x, y, rel_tol=2 * 10.0 ** (1 - digits)):
                return f"{x!r}, and {y!r} in the print"
        return None
    if one.dtype.kind in "iu" and two.dtype.kind in "iu" and one.dtype.itemsize == two.dtype.itemsize:
        two = two.view(one.dtype)
    return None if np.array_equal(one, two) else f"{one.ravel()[:5]}, and {two.ravel()[:5]} in the print"


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text or "").encode("utf-8", "surrogateescape")


def _attributes(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Yield all attributes by `variable.attribute` or `attribute`."""
    for group in (dataset, *_groups(dataset)):
        prefix = group.path.strip("/")
        for name, value in group.attributes.items():
            yield f"{prefix}/{name}" if prefix else name, value
        for variable in group.variables.values():
            for name, value in variable.attributes.items():
                if name not in OWN:
                    yield unquote(f"{variable.path.lstrip('/')}.{name}").replace("\\", "").replace("__.", "."), value


def _same_attribute(one: Any, two: Any) -> bool:
    texts = [_text(one), _text(two)]
    if None not in texts:
        return texts[0] == texts[1]
    a, b = np.atleast_1d(one), np.atleast_1d(two)
    return _unequal(a, b, None) is None if a.dtype.kind == b.dtype.kind or a.dtype.kind in "iu" else False


def _text(value: Any) -> str | None:
    if isinstance(value, str | bytes):
        return (value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")).replace("\n", "")
    values = list(np.atleast_1d(value).tolist())
    return "".join(map(str, values)).replace("\n", "") if all(isinstance(each, str) for each in values) else None
