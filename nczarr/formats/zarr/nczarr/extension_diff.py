"""The extension of a variable that is going to be written: what the plain documents of its arrays leave unsaid."""

from __future__ import annotations

from nczarr.ast import Storage, Variable
from nczarr.formats.zarr.extension.documents import PlainNames, unsaid
from nczarr.formats.zarr.extension.model import ArrayExtension
from nczarr.plan.plans import StorePlan
from nczarr.plan.storage_roundtrip import metadata_storage


def array_extension(
    plan: StorePlan, path: str, variable: Variable, known: PlainNames, said_type: str
) -> ArrayExtension:
    """Of a variable that is one array. `said_type`: what its dtype says to a reader who finds nothing else."""
    target = plan.targets[path][""]
    anonymous = any(isinstance(ref, int) for ref in variable.dimensions)
    return unsaid(
        plan.storage[path],
        metadata_storage(target.layout),
        type_name=variable.type if variable.type != said_type else None,
        dimensions=known.references(variable) if anonymous else None,
        nil={"": target.nil},
    )


def parts_extension(plan: StorePlan, path: str, variable: Variable, known: PlainNames) -> ArrayExtension:
    """Of a variable that is a group of parts: all there is to say."""
    nil = {part: target.nil for part, target in plan.targets[path].items() if target.nil}
    return unsaid(
        plan.storage[path], Storage(), type_name=variable.type, dimensions=known.references(variable), nil=nil
    )
