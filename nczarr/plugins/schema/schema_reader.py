"""Row of the schemas of `compile`: several layers, and definitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nczarr.pipeline.emission import SchemaReader
from nczarr.sdk import TARGET, Checked, Option, Options, Report, read_input

OPTIONS = (
    Option(
        "definitions",
        section=TARGET,
        flags="--define",
        takes="texts",
        metavar="NAME=VALUE",
        help="length of a dimension (lat=720), or value of an attribute of the root (:title=Moorings) or of a variable "
        "(temp:units=K) that the schema has; repeatable",
    ),
)


def read(paths: Sequence[str], definitions: Sequence[str], report: Report, options: Options) -> Checked | None:
    """Return the dataset of all layers with the definitions; None after an error. Raises OSError."""
    from nczarr.plugins.schema.layers import define, merge_layers

    layers = list(map(partial(read_input, report=report, options=options), paths))
    found = [layer for layer in layers if layer is not None]
    if len(found) < len(layers):
        return None
    checked = found[0] if len(found) == 1 else merge_layers(found, report)
    return checked if checked is None or not definitions else define(checked, definitions, report)


READER = SchemaReader(OPTIONS, read)
