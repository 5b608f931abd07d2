"""Parsers of the commands: the sections of their help, shared options, and types of option values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from nczarr.cli import write_product
from nczarr.names import list_first, readable
from nczarr.names.records import NamedTuple
from nczarr.options import OUTPUT, PARTS, SECTIONS, TABLE, Option, Options, parse_size

if TYPE_CHECKING:
    from nczarr.ast import Kind

WIDTH = 80
"""Maximum columns of a help text."""

FEW = 14
"""Maximum number of options that `--help` shows without `all`, whether they are common or not."""

EXAMPLES = "examples:\n"

Example = tuple[str, str]
"""Purpose of a command line, and the command line without `nczarr`."""


class Formatter(argparse.HelpFormatter):
    """Help of at most 80 columns; descriptions are wrapped, examples are not."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLES) else super()._fill_text(text, width, indent)


class RunWrapper(NamedTuple):
    """Options of a plugin around the run of a command."""

    options: tuple[Option, ...]
    run: Callable[[argparse.Namespace, Callable[[argparse.Namespace], int], Sequence[str]], int]
    """Function of the arguments, the run of the command, and the words of the command line; returns the status."""
    if_given: bool = False
    """True if it is called only where one of its options is given."""


class Command(argparse.ArgumentParser):
    """Parser of one command, with every section of its help."""

    def __init__(self, name: str, usage: str, description: str, examples: tuple[Example, ...]) -> None:
        super().__init__(
            prog=f"nczarr {name}",
            usage=f"nczarr {name} {usage}",
            description=description,
            epilog=EXAMPLES + "\n".join(f"  {text}:\n    nczarr {call}" for text, call in examples),
            formatter_class=Formatter,
            add_help=False,
            allow_abbrev=False,
        )
        self.name = name
        self.set_defaults(command=name)
        self.examples = examples
        self._common: dict[str, bool] = {}
        self._sections = {title: self.add_argument_group(title) for title in SECTIONS}

    def complete(self, *shared: Collection[str], own: Sequence[Option] = ()) -> Command:
        """Add the options that the table has for this command, and `--help`.

        `shared`: names of further options, `READING` and `REPORTING`; for commands of plugins.
        `own`: rows of their own options, each in the place of the row with its name.
        """
        owned = {row.name: row for row in own}
        rows = [
            owned.pop(row.name, row)
            for row in TABLE
            if row.name in owned or self.name in row.commands or any(row.name in each for each in shared)
        ]
        around = (row for wrapper in list_wrappers(self.name) for row in wrapper.options)
        for row in (*rows, *owned.values(), *around):
            self.add(row)
        short = [flag for flag in ("-h",) if flag not in self._option_string_actions]
        self.option(OUTPUT, *short, "--help", action=Help, help="show this help and exit; all: with every option")
        return self

    def add(self, row: Option) -> None:
        """Add an option by its row."""
        self.option(row.section, *row.flags.split(), common=row.common, dest=row.name, **_settings(row))

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error with a remedy, without control characters of arguments, and exit."""
        super().error(readable(message) + self._find_remedy(message))

    def _find_remedy(self, message: str) -> str:
        """Return the end of a message about an unknown option or value: what was probably meant, or who has it."""
        from nczarr.diagnostics.report import hint
        from nczarr.names import closest

        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            choices = re.findall(r"[\w.+-]+", choice[2])
            alike = [one for one in choices if one.startswith(choice[1])]  # `python`: of two kinds
            return f"; did you mean {' or '.join(map('`{}`'.format, alike))}?" if alike else hint(choice[1], choices)
        flag = re.search(r"unrecognized arguments: .*?(?<!\S)(--?[A-Za-z][\w-]*)", message)
        if flag is None:
            return ""
        meant = [name for name in SYNONYMS.get(flag[1], ()) if name in self._option_string_actions]
        if meant:
            return f"; did you mean {' or '.join(f'`{name}`' for name in meant)}?"
        owners = [command for row in TABLE if flag[1] in row.flags.split() for command in row.commands]
        others = f"`{flag[1]}` is an option of {list_first(dict.fromkeys(owners), 4)}" if owners else ""
        own = {name.lstrip("-"): name for name in self._option_string_actions if name.startswith("--")}
        alike_name = closest(flag[1].lstrip("-"), own)  # dashes would make all names alike
        return f"; {others}" if others else f"; did you mean `{own[alike_name]}`?" if alike_name else ""

    def actions(self) -> list[argparse.Action]:
        """Return the arguments and options in order."""
        return [action for _, actions in self.sections() for action in actions]

    def sections(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        """Yield each section that is not empty with its visible arguments and options."""
        for title, group in self._sections.items():
            shown = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
            if shown:
                yield title, shown

    def option(self, section: str, *flags: str, common: bool = True, **settings: Any) -> None:
        """Add an option or positional argument to a section; `common`: `--help` without `all` shows it."""
        self._common[self._sections[section].add_argument(*flags, **settings).dest] = common

    def format_common_help(self) -> str:
        """Return the help with common options alone, and a line that names the way to all; all of a few options."""
        options = [action for action in self.actions() if action.option_strings]
        if len(options) <= FEW:
            return self.format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, actions in self.sections():
            formatter.start_section(title)
            formatter.add_arguments(action for action in actions if self._common[action.dest])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return f"{formatter.format_help()}\n`nczarr {self.name} --help all` shows all {len(options)} options.\n"


def list_wrappers(*commands: str) -> list[RunWrapper]:
    """Return what plugins put around the run of a command, whose rows are `COMMAND` or `COMMAND:WORD`."""
    from nczarr.names.plugin_index import list_offered, list_own, load_part

    offered = [name for name in list_offered("wrapper") if name.partition(":")[0] in commands]
    return [load_part(list_own("wrapper")[name]) for name in offered]


class Help(argparse.Action):
    """Action that prints the help and exits. Raises OSError, which argparse's own action ignores."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, "help", nargs="?", metavar="all", default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: object) -> None:
        """Print it. Another word behind the option than `all` is an argument of the command."""
        assert isinstance(parser, Command)
        write_product([(parser.format_help() if value == "all" else parser.format_common_help()).encode()])
        parser.exit()


class Switch(argparse.BooleanOptionalAction):
    """Option `--x` with `--no-x`. Its help is the same in all versions of Python, some of which add the default."""

    def __init__(self, option_strings: list[str], dest: str, **settings: Any) -> None:
        text = settings.pop("help", None)
        super().__init__(option_strings, dest, **settings)
        self.help = text


def _settings(row: Option) -> dict[str, Any]:
    """Return the settings of argparse for an option of the table."""
    if row.takes == "flag":
        return {"action": "store_true", "help": row.help}
    if row.takes == "switch":
        return {"action": Switch, "help": row.help}
    choices, text, default = row.choices, row.help, row.default
    if row.takes == "documents":
        from nczarr.registry import REFERENCE, ROWS, load

        choices = load(ROWS[REFERENCE]).store.inner
        text = text.format(choices[0])
    if row.takes in REPEATABLE:
        return {"action": "append", "default": [], "type": PARSERS.get(row.takes), "metavar": row.metavar, "help": text}
    if default is None and row.name.split(".")[0] in PARTS:
        default = Options().find(row.name)
    return {
        "type": PARSERS.get(row.takes),
        "choices": choices,
        "default": default,
        "metavar": row.metavar,
        "help": text,
    }


def storage_option(text: str) -> tuple[str, Any]:
    """Return an option of remote places. Raises ArgumentTypeError without its value, which may be a secret."""
    from nczarr.diagnostics.secrets import option

    try:
        return option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def kind(text: str) -> Kind:
    """Return a kind of netCDF file in any spelling of ncgen's `-k`. Raises ArgumentTypeError for others."""
    from nczarr.ast.dataset import KIND_SPELLINGS  # loads the tree, which other commands do without

    netcdf_kind = KIND_SPELLINGS.get(text)
    if netcdf_kind is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a kind of netCDF file; use nc3, nc6, nc5, nc4, nc7 or 1 … 5")
    return netcdf_kind


def size(text: str) -> int:
    """Return a number of bytes: `4096`, `64MiB`, `2TB`. Raises ArgumentTypeError for other texts."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def integer(least: int, most: int, what: str) -> Callable[[str], int]:
    """Return a parser of integers in a range. It raises ArgumentTypeError for texts that are not `what`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return int(text)

    return parse


def loss(text: str) -> str:
    """Return a code for `--allow-loss`, or `all`. Raises ArgumentTypeError for others."""
    from nczarr.diagnostics.accepted_losses import find_disallowed

    message = find_disallowed(text)
    if message is not None:
        raise argparse.ArgumentTypeError(message)
    return text


def warning_level(text: str) -> tuple[str, str]:
    """Return a code of warnings and the level that it gets. Raises ArgumentTypeError for others."""
    from nczarr.diagnostics.catalog import CODES
    from nczarr.diagnostics.report import VALUE_LOSSES, Severity, hint

    code, _, level = text.partition("=")
    if level not in ("error", "warning", "ignore"):
        raise argparse.ArgumentTypeError(f"{text!r} has no level; write CODE=error, CODE=warning or CODE=ignore")
    if code not in CODES:
        raise argparse.ArgumentTypeError(f"`{code}` is not a code{hint(code, CODES)}")
    if CODES[code].severity is Severity.ERROR and level != "error":
        remedy = f"; `--allow-loss {code}` accepts it" if code in VALUE_LOSSES else ""
        raise argparse.ArgumentTypeError(f"`{code}` is an error, which is no warning of another level{remedy}")
    return code, level


def _level(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) == 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a level; write 0 to 9")
    return int(text)


PARSERS: dict[str, Callable[[str], Any]] = {
    "kind": kind,
    "level": _level,
    "levels": warning_level,
    "losses": loss,
    "size": size,
    "storage options": storage_option,
    "workers": integer(1, 1024, "a number of threads, 1 to 1024"),
}
"""Parsers of values by the name that the table of options has for them; all others are texts."""

SYNONYMS = {
    "--format": ("--to", "--from"), "--output-format": ("--to",), "--input-format": ("--from",),
    "--variable": ("--var",), "--variables": ("--var",), "-v": ("--verbose", "--var"), "-c": ("--chunks",),
    "--compression": ("--codec",), "--compressor": ("--codec",), "--deflate": ("--codec",), "--filter": ("--codec",),
    "--force": ("--overwrite",), "--clobber": ("--overwrite",), "-O": ("--overwrite",), "-d": ("--dim", "--codec"),
    "--threads": ("--workers",), "--jobs": ("--workers",), "-j": ("--workers",),
}  # fmt: skip
"""Options of other tools, such as ncks, nccopy and ncdump, and what they are called here."""

REPEATABLE = ("chunks", "codecs", "levels", "losses", "names", "shards", "storage options", "texts")
"""Values whose option may be repeated."""
