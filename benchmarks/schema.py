"""The text of rows A1 and A2, a schema of any size from a seed, and two files made of it, compared in full."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

WORDS = "ocean surface pressure mean monthly anomaly of sea water potential temperature at depth".split()


def schema(groups: int, variables: int, attributes: int) -> str:
    """The text: every group has dimensions of its own, every variable attributes of several types."""
    pick = random.Random(20)
    out = ["netcdf a1 {"]
    for group in range(groups):
        out.append(f"group: g{group:03} {{")
        out.append("dimensions:")
        out += [f"\td{axis} = {pick.randint(1, 50)} ;" for axis in range(4)]
        out.append("variables:")
        for number in range(variables):
            kind = pick.choice(("float", "double", "int", "short", "int64", "ubyte"))
            axes = ", ".join(f"d{axis}" for axis in sorted(pick.sample(range(4), pick.randint(1, 3))))
            name = f"variable_{number:04}"
            out.append(f"\t{kind} {name}({axes}) ;")
            for attribute in range(attributes):
                out.append(f"\t\t{name}:{_attribute(pick, attribute)} ;")
        out.append("}")
    return "\n".join([*out, "}", ""])


def _attribute(pick: random.Random, number: int) -> str:
    match number % 4:
        case 0:
            return f'text_{number} = "{" ".join(pick.choices(WORDS, k=12))}"'
        case 1:
            return f"number_{number} = {pick.uniform(-1e3, 1e3)!r}"
        case 2:
            return f"range_{number} = {pick.randint(-99, 0)}, {pick.randint(1, 99)}"
        case _:
            return f"single_{number} = {pick.randint(0, 10**6) / 8}f"


def same_files(mine: str, theirs: str, *, kinds: bool = True) -> str:
    """Two netCDF files, as libnetcdf reads them: all that they declare, and every value. `kinds`: of one kind."""
    import netCDF4

    variables = values = 0
    with netCDF4.Dataset(mine) as one, netCDF4.Dataset(theirs) as other:
        assert one.data_model == other.data_model or not kinds
        for ours, peers in zip(_groups(one), _groups(other), strict=True):
            assert ours.path == peers.path
            assert _dimensions(ours) == _dimensions(peers), ours.path
            assert _attributes(ours) == _attributes(peers), ours.path
            assert list(ours.variables) == list(peers.variables), ours.path
            for name, first in ours.variables.items():
                values += _same_variable(first, peers.variables[name])
                variables += 1
    return f"{variables} variables, their attributes and {values} values equal"


def _groups(group: Any) -> Iterator[Any]:
    yield group
    for child in group.groups.values():
        yield from _groups(child)


def _dimensions(group: Any) -> list[tuple[str, int, bool]]:
    return [(name, item.size, item.isunlimited()) for name, item in group.dimensions.items()]


def _attributes(owner: Any) -> list[tuple[str, str, bytes]]:
    import numpy as np

    found = [(name, np.asarray(owner.getncattr(name))) for name in owner.ncattrs()]
    return [(name, value.dtype.str, value.tobytes()) for name, value in found if name != "_NCProperties"]


def _same_variable(first: Any, second: Any) -> int:
    first.set_auto_maskandscale(False)
    second.set_auto_maskandscale(False)
    assert (first.dtype, first.dimensions) == (second.dtype, second.dimensions), first.name
    assert _attributes(first) == _attributes(second), first.name
    mine, theirs = first[...], second[...]
    assert mine.shape == theirs.shape, first.name
    assert mine.tobytes() == theirs.tobytes(), first.name
    return int(mine.size)
