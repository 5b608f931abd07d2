"""Parsers of the commands: the sections of their help, shared options, and types of option values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nczarr.cli.streams import write_product

if TYPE_CHECKING:
    from nczarr.ast import Kind
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.options import Following

ARGUMENTS = "arguments"
SOURCE = "source"
SELECTION = "selection"
TARGET = "target"
CHUNKS = "chunks and codecs"
REFERENCES = "reference documents"
NETWORK = "network"
RUN = "run"
COMBINATION = "combination"
COMPARISON = "comparison"
LIMITS = "limits"
TEXT = "text"
OUTPUT = "output"

SECTIONS = (
    ARGUMENTS,
    SOURCE,
    SELECTION,
    COMBINATION,
    COMPARISON,
    TARGET,
    CHUNKS,
    REFERENCES,
    NETWORK,
    RUN,
    LIMITS,
    TEXT,
    OUTPUT,
)
"""Sections of a help text in order; empty ones are not shown."""

WIDTH = 80
"""Maximum columns of a help text."""

EXAMPLES = "examples:\n"

Example = tuple[str, str]
"""Purpose of a command line, and the command line without `nczarr`."""


class Formatter(argparse.HelpFormatter):
    """Help of at most 80 columns; descriptions are wrapped, examples are not."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLES) else super()._fill_text(text, width, indent)


class Command(argparse.ArgumentParser):
    """Parser of one command, with every section of its help."""

    def __init__(self, name: str, usage: str, description: str, examples: tuple[Example, ...]) -> None:
        super().__init__(
            prog=f"nczarr {name}",
            usage=f"nczarr {name} {usage}",
            description=description,
            epilog=_epilog(examples),
            formatter_class=Formatter,
            add_help=False,
            allow_abbrev=False,
        )
        self.examples = examples
        self._sections = {title: self.add_argument_group(title) for title in SECTIONS}

    def actions(self) -> list[argparse.Action]:
        """Return the arguments and options in order."""
        return [action for _, actions in self.sections() for action in actions]

    def sections(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        """Yield each section that is not empty with its visible arguments and options."""
        for title, group in self._sections.items():
            shown = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
            if shown:
                yield title, shown

    def option(self, section: str, *flags: str, **settings: Any) -> None:
        """Add an option or positional argument to a section."""
        self._sections[section].add_argument(*flags, **settings)


def _epilog(examples: tuple[Example, ...]) -> str:
    """Return the examples of a command as they are shown."""
    lines = (f"  {text}:\n    nczarr {call}" for text, call in examples)
    return EXAMPLES + "\n".join(lines)


class Help(argparse.Action):
    """Action that prints the help and exits. Raises OSError, which argparse's own action ignores."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *parts_of_call: Any) -> None:
        """Print it."""
        write_product([parser.format_help().encode()])
        parser.exit()


class Switch(argparse.BooleanOptionalAction):
    """Option `--x` with `--no-x`. Its help is the same in all versions of Python, some of which add the default."""

    def __init__(self, option_strings: list[str], dest: str, **settings: Any) -> None:
        text = settings.pop("help", None)
        super().__init__(option_strings, dest, **settings)
        self.help = text


def command(
    name: str,
    usage: str,
    description: str,
    examples: tuple[Example, ...],
    *,
    short_help: bool = True,
    messages: bool = True,
    places: bool = True,
    form: bool = False,
) -> Command:
    """Return the parser of one command with the shared options.

    Without `short_help`, `-h` belongs to the command. `messages`: it prints
    diagnostics. `places`: it takes paths and URLs. `form`: it has `--from`.
    """
    subparser = Command(name, usage, description, examples)
    if form:
        subparser.option(
            SOURCE, "--from", dest="form", metavar="FORMAT", help="format of the sources (default: by content)"
        )
    if places:
        _add_places(subparser)
    if messages:
        _add_messages(subparser)
    flags = ("-h", "--help") if short_help else ("--help",)
    subparser.option(OUTPUT, *flags, action=Help, help="show this help and exit")
    return subparser


def _add_messages(subparser: Command) -> None:
    """Add the options of diagnostics."""
    subparser.option(OUTPUT, "--strict", action="store_true", help="treat warnings as errors")
    subparser.option(
        OUTPUT,
        "--message-format",
        choices=("human", "json", "sarif"),
        default="human",
        help="form of the diagnostics on standard error (default: human)",
    )
    subparser.option(OUTPUT, "-q", "--quiet", action="store_true", help="print errors only")
    subparser.option(
        OUTPUT, "--verbose", action="store_true", help="list every loss; print the traceback of an internal error"
    )


def _add_places(subparser: Command) -> None:
    """Add the options of remote places, and of sources that are reference documents."""
    subparser.option(
        SOURCE,
        "--storage-option",
        action="append",
        type=storage_option,
        default=[],
        metavar="NAME=VALUE",
        help="option for the library that opens a URL; a prefix `source.` or `target.` limits it to one side; "
        "retries=N sets the number of retries; repeatable",
    )
    subparser.option(
        SOURCE,
        "--source-base",
        metavar="URL",
        help="base of the relative URLs in a reference document (default: the folder of the document)",
    )
    subparser.option(
        SOURCE,
        "--source-root",
        action="append",
        default=[],
        metavar="ROOT",
        help="allow references to this folder, URL or protocol (s3://) and refuse all others; repeatable "
        "(default: see `nczarr help references`)",
    )
    subparser.option(SOURCE, "--source-target", metavar="URL", help="target of references that name no URL")
    subparser.option(
        SOURCE,
        "--source-jinja",
        action="store_true",
        help="render templates beyond the built-in grammar with jinja2, in a sandbox",
    )


def add_verify(subparser: Command) -> None:
    """Add `--verify` and `--progress`."""
    subparser.option(
        RUN, "--verify", action="store_true", help="read the target again; publish it only if every value is there"
    )
    subparser.option(RUN, "--progress", action=Switch, help="show progress (default: on a terminal, for long runs)")


def add_memory(subparser: Command, default: int) -> None:
    """Add the limit of memory."""
    subparser.option(
        LIMITS,
        "--memory",
        type=size,
        default=default,
        metavar="SIZE",
        help="memory for values and chunks in flight (default: 1GiB)",
    )


def add_workers(subparser: Command) -> None:
    """Add the number of threads."""
    subparser.option(
        LIMITS,
        "--workers",
        type=workers,
        metavar="N",
        help="number of threads, and of processes that read sources (default: one per processor)",
    )


def following_of(arguments: argparse.Namespace) -> Following:
    """Return how references of sources are followed."""
    from nczarr.options import Following

    return Following(
        arguments.source_base,
        tuple(arguments.source_root),
        arguments.source_target,
        jinja=arguments.source_jinja,
    )


def storage_option(text: str) -> tuple[str, Any]:
    """Return an option of remote places. Raises ArgumentTypeError without its value, which may be a secret."""
    from nczarr.diagnostics.secrets import option

    try:
        return option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def storage_of(arguments: argparse.Namespace) -> StorageOptions:
    """Return all storage options."""
    from nczarr.diagnostics.secrets import StorageOptions

    return StorageOptions(dict(arguments.storage_option))


def kind(text: str) -> Kind:
    """Return a kind of netCDF file in any spelling of ncgen's `-k`. Raises ArgumentTypeError for others."""
    from nczarr.ast.kinds import KIND_SPELLINGS  # loads the tree, which other commands do without

    netcdf_kind = KIND_SPELLINGS.get(text)
    if netcdf_kind is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a kind of netCDF file; use nc3, nc6, nc5, nc4, nc7 or 1 … 5")
    return netcdf_kind


def size(text: str) -> int:
    """Return a number of bytes: `4096`, `64MiB`, `2TB`. Raises ArgumentTypeError for other texts."""
    size_parts = re.fullmatch(r"([0-9]+)(?:([KMGTPE])(i?)B?|B)?", text, re.ASCII | re.IGNORECASE)
    if size_parts is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write a number of bytes, 64MiB, 2TB …")
    number, prefix, binary = size_parts.groups()
    power = " KMGTPE".index(prefix.upper()) if prefix else 0
    unit = 1024 if binary else 1000
    return int(number) * int(unit**power)


def integer(least: int, most: int, what: str) -> Callable[[str], int]:
    """Return a parser of integers in a range. It raises ArgumentTypeError for texts that are not `what`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return int(text)

    return parse


workers = integer(1, 1024, "a number of threads, 1 to 1024")
"""Parser of `--workers`."""


def loss(text: str) -> str:
    """Return a code for `--allow-loss`, or `all`. Raises ArgumentTypeError for others."""
    from nczarr.diagnostics.value_losses import ALLOWED, not_allowed

    if text not in ALLOWED:
        raise argparse.ArgumentTypeError(not_allowed(text))
    return text
