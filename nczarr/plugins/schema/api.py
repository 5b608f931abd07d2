"""`nczarr.changes`: what changed between two versions of a schema; `nczarr.layer`: several schemas as one."""

from __future__ import annotations

import os
from collections.abc import Mapping

from nczarr.api.hints import add_hints
from nczarr.plugins.schema.evolution.changes import list_changes
from nczarr.plugins.schema.evolution.rules import SchemaChange
from nczarr.plugins.schema.layers import define, merge_layers
from nczarr.sdk import CompileError, DatasetHandle, Report


@add_hints
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
    return list(list_changes(_open(old).checked, _open(new).checked))


@add_hints
def layer(
    *schemas: str | os.PathLike[str] | DatasetHandle, definitions: Mapping[str, object] | None = None
) -> DatasetHandle:
    """Return several schemas as one: each adds to those before, and overrides them.

    Parameters
    ----------
    *schemas : str, os.PathLike or DatasetHandle
        Schemas, the base first. A later one may override lengths of dimensions, attributes,
        storage and values, but no types, and no dimensions of variables.
    definitions : Mapping, optional
        Lengths of dimensions (`"lat"`) and values of attributes (`":title"`, `"temp:units"`) that
        the schemas have.

    Returns
    -------
    DatasetHandle
        The dataset of all.

    Raises
    ------
    CompileError
        If schemas conflict, or a name of `definitions` is unknown; each node is named.
    OSError
        If one is unreachable.

    Examples
    --------
    >>> import nczarr
    >>> base = nczarr.from_cdl('netcdf d { dimensions: x = 2 ; variables: int v(x) ; :title = "T" ; }')
    >>> more = nczarr.from_cdl('netcdf d { variables: int w ; :title = "U" ; }')
    >>> made = nczarr.layer(base, more, definitions={"x": 5})
    >>> sorted(made.variables), made.dimensions["x"].length, made.attributes["title"]
    (['v', 'w'], 5, 'U')
    """
    report = Report()
    layers = [_open(schema).checked for schema in schemas]
    if not layers:
        raise ValueError("no schemas are given")
    checked = layers[0] if len(layers) == 1 else merge_layers(layers, report)
    if checked is not None and definitions:
        checked = define(checked, [f"{name}={value}" for name, value in definitions.items()], report)
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    return DatasetHandle(checked)


def _open(schema: str | os.PathLike[str] | DatasetHandle) -> DatasetHandle:
    from nczarr.api.handle import open_dataset

    return schema if isinstance(schema, DatasetHandle) else open_dataset(schema)
