"""NcML: declarations of the schema as XML, by the writer that servers use as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nczarr.plugins.common import ncml_writer
from nczarr.plugins.generate.model import Schema
from nczarr.sdk import Checked, Report

NO_NAME = re.compile(r"\s|^\*$|^[0-9]+$")
"""Names of dimensions that a shape of NcML takes for something else."""


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what NcML cannot express: FQN and reason."""
    for declared in schema.types.values():
        if declared.kind == "enum" and declared.base in ("int64", "uint64"):
            yield declared.path, "enums of NcML have at most 32 bits"
    for dimension in schema.dimensions.values():
        if NO_NAME.search(dimension.name):
            yield dimension.path, "a shape of NcML has names without blanks that are no numbers"
    for variable in schema.variables:
        for one, _ in variable.find_hidden():
            yield variable.path, f"the name of its dimension `{one.path}` means none or another one there"
    for place, attribute in schema.attributes:
        if attribute.type == "string" and None in attribute.constant.data:
            yield place, "NcML has no missing string"
        if attribute.text.endswith(b"\0"):
            yield place, "texts of NcML end before a NUL"


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the document by file name."""
    schema = Schema(checked, name)
    is_refused = schema.refuse(find_obstacles(schema), "NcML", report)
    return {} if is_refused else {f"{schema.name}.ncml": ncml_writer.text(checked, None)}
