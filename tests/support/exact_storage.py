"""Storage that netCDF-4 files preserve exactly."""

from __future__ import annotations

from nczarr.ast.dataset import Group


def exact_storage(group: Group) -> Group:
    """Without what changes values (quantize) or leaves them undefined (no fill)."""
    changed = {"no_fill": False, "quantize": None}
    kept = tuple(
        variable.model_copy(update={"storage": variable.storage.model_copy(update=changed)})
        for variable in group.variables
    )
    return group.model_copy(update={"variables": kept, "groups": tuple(map(exact_storage, group.groups))})
