"""`nczarr.changes`: what changed between two versions of a schema, and which programs survive it."""

from __future__ import annotations

import os

from nczarr.plugins.schema.evolution.changes import list_changes
from nczarr.plugins.schema.evolution.rules import SchemaChange
from nczarr.sdk import DatasetHandle


def changes(
    old: str | os.PathLike[str] | DatasetHandle, new: str | os.PathLike[str] | DatasetHandle
) -> list[SchemaChange]:
    """Return the changes from a schema to a newer version, each with its rule.

    Parameters
    ----------
    old, new : str, os.PathLike or DatasetHandle
        Schemas: CDL, notation or any dataset.

    Returns
    -------
    list of SchemaChange
        `rule`, `path` and `message`; `backward` is True if programs of the old schema read data of the new one, and
        `forward` if programs of the new schema read data of the old one. Empty if nothing changed.

    Raises
    ------
    CompileError
        If a schema is invalid.
    OSError
        If one is unreachable.

    Examples
    --------
    >>> import nczarr
    >>> old = nczarr.from_cdl("netcdf d { variables: int v ; v:units = 'm' ; }")
    >>> new = nczarr.from_cdl("netcdf d { variables: short v ; v:units = 'm' ; float w ; }")
    >>> [(change.rule, change.path, change.backward) for change in nczarr.changes(old, new)]
    [('added-variable', '/w', True), ('narrowed-type', '/v', False)]
    """
    from nczarr.api.handle import open_dataset

    sides = [each if isinstance(each, DatasetHandle) else open_dataset(each) for each in (old, new)]
    return list(list_changes(sides[0].checked, sides[1].checked))
