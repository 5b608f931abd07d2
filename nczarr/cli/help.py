"""`--help`, printed as any other product: a stream that takes nothing is a failure."""

from __future__ import annotations

import argparse
from typing import Any

from nczarr.cli.streams import write_product


class Help(argparse.Action):
    """Print the help of a parser and end the command. Raises OSError, which argparse's own action passes over."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        """Print it."""
        write_product([parser.format_help().encode()])
        parser.exit()
