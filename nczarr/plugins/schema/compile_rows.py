"""Rows of `compile`: layers of schemas with definitions, and products of programs; what does the work comes later."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nczarr.pipeline.emission import CompileProduct, SchemaReader
from nczarr.sdk import TARGET, Checked, Option, Options, Report, read_input

LAYER_OPTIONS = (
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


READER = SchemaReader(LAYER_OPTIONS, read)


PROGRAM_OPTIONS = (
    Option(
        "program",
        section=TARGET,
        flags="--plugin",
        takes="text",
        metavar="COMMAND",
        help="make the files of -o DIR by this program, which reads the analysed tree as JSON and writes files and "
        "diagnostics as JSON",
        bytes=False,
    ),
    Option(
        "program_seconds",
        section=TARGET,
        flags="--plugin-timeout",
        takes="text",
        metavar="SECONDS",
        help="time that the program has (default: 60)",
        bytes=False,
    ),
)


def make(*arguments: Any, **options: Any) -> None:
    """Make the files, as `external.make`."""
    from nczarr.plugins.schema.external import make as make_by_program

    make_by_program(*arguments, **options)


PRODUCT = CompileProduct(PROGRAM_OPTIONS, make)
