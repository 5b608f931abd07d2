"""`--help` that fails if standard output fails."""

from __future__ import annotations

import argparse
from typing import Any

from nczarr.cli.streams import write_product


class Help(argparse.Action):
    """Action that prints the help and exits. Raises OSError, which argparse's own action ignores."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        """Print it."""
        write_product([parser.format_help().encode()])
        parser.exit()
