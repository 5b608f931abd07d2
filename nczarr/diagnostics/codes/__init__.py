"""Every diagnostic code: meaning, failing example, remedy. One small file a subject.

Invariants, all tested: names are adjective-noun in lower case, never reused and never renamed; each example
is reported with exactly its code; the source uses no code that is not declared here, and declares none in vain.
"""

from __future__ import annotations

from nczarr.diagnostics.codes import (
    awkward0,
    classic,
    combinations,
    differences,
    files,
    lexical,
    losses,
    names,
    ncstream,
    peer_arrays,
    peer_python,
    peer_stores,
    points,
    ragged,
    references,
    schema,
    storage,
    stores,
    subsets,
    syntax,
    targets,
    values,
    verification,
)
from nczarr.diagnostics.codes.code import Code

PARTS = {
    "Characters and constants": lexical,
    "Grammar": syntax,
    "Names and types": names,
    "Values": values,
    "Storage and special attributes": storage,
    "Stores that are read": stores,
    "Parts of datasets": subsets,
    "Reference documents": references,
    "Targets of reference documents": verification,
    "Combining datasets": combinations,
    "Awkward 0.x persistence": awkward0,
    "Ragged arrays": ragged,
    "Messages of ncstream": ncstream,
    "Schemas": schema,
    "Other readers: stores and attributes": peer_stores,
    "Other readers: arrays and dimensions": peer_arrays,
    "Other readers: zarr-python and xarray": peer_python,
    "Kinds of file and targets": targets,
    "Losses": losses,
    "Classic netCDF files": classic,
    "Streams of points": points,
    "Files and runs": files,
}
"""The subjects in the order of the documentation."""

CODES: dict[str, Code] = {code.name: code for part in PARTS.values() for code in part.CODES}
"""Every code by name."""

KINDS: dict[str, Code] = {kind.name: kind for kind in differences.CODES}
"""Every kind of difference by name; `missing-group` is a code as well."""

__all__ = ["CODES", "KINDS", "PARTS", "Code"]
