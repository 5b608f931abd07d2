"""Options of `compile --plugin CMD`, which every `compile` lists; what runs the program is loaded with it."""

from __future__ import annotations

from typing import Any

from nczarr.pipeline.emission import CompileProduct
from nczarr.sdk import TARGET, Option

OPTIONS = (
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


PRODUCT = CompileProduct(OPTIONS, make)
