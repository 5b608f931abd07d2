"""Dimensions of the groups of a tree: netCDF's scopes in xarray's model.

In netCDF, a dimension of a group hides one of the same name in a group above. In
xarray's trees, each name has one length and one coordinate on every path from the
root.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

import xarray

from nczarr import names
from nczarr.integrations.xarray.warnings import warn


def apart(
    groups: Mapping[str, xarray.Dataset], dimensions: Mapping[str, Mapping[str, str]]
) -> dict[str, xarray.Dataset]:
    """Return the groups with new names for dimensions that differ from one of that name in a group above.

    `groups`: by path, parents before children; `dimensions`: FQN of each group's
    dimensions by path and name. A coordinate variable is renamed with its
    dimension. Each is a warning in the group that has it first.
    """
    taken = {str(name) for dataset in groups.values() for name in (*dataset.dims, *dataset.variables)}
    settled = dict[str, xarray.Dataset]()
    inherited = dict[str, dict[str, str]]()
    for path, dataset in groups.items():
        parents = [str(parent) for parent in PurePosixPath(path).parents if str(parent) in settled]
        chosen = dict(inherited[parents[0]]) if parents else {}
        renamed = dict[str, str]()
        fqns = dimensions[path]
        for name in sorted(map(str, dataset.dims), key=lambda name: fqns.get(name) not in chosen):
            fqn = fqns.get(name, name)
            new = chosen.get(fqn, name)
            if new in renamed.values() or not all(_agree(name, dataset, new, settled[parent]) for parent in parents):
                new = names.free(name, taken.__contains__)
                taken.add(new)
                warn(f"group `{path}`: dimension `{name}` is `{new}`, because a group above has another `{name}`")
            chosen[fqn] = new
            renamed[name] = new
        renamed = {name: new for name, new in renamed.items() if name != new}
        inherited[path] = chosen
        settled[path] = _renamed(dataset, renamed) if renamed else dataset
    return settled


def _agree(name: str, dataset: xarray.Dataset, new: str, above: xarray.Dataset) -> bool:
    """Return whether a dimension, under its new name, has the length and coordinate of a group above."""
    if new not in above.dims:
        return True
    if dataset.sizes[name] != above.sizes[new]:
        return False
    coordinate, other = dataset.variables.get(name), above.variables.get(new)
    if coordinate is None or other is None or coordinate.dims != (name,) or other.dims != (new,):
        return True
    same = other.copy(deep=False)
    same.dims = coordinate.dims
    return bool(coordinate.equals(same))  # type: ignore[no-untyped-call]


def _renamed(dataset: xarray.Dataset, new: Mapping[str, str]) -> xarray.Dataset:
    """Return a dataset with new names of dimensions and their coordinates, in encodings too."""
    renamed = dataset.rename(new)
    for variable in renamed.variables.values():
        preferred = variable.encoding.get("preferred_chunks")
        if preferred:
            variable.encoding["preferred_chunks"] = {
                new.get(dimension, dimension): size for dimension, size in preferred.items()
            }
    unlimited = dataset.encoding.get("unlimited_dims", ())
    renamed.encoding = {
        **dataset.encoding,
        "unlimited_dims": {new.get(dimension, dimension) for dimension in unlimited},
    }
    return renamed
