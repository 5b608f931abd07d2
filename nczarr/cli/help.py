"""`nczarr help`: list the commands and topics, explain one of them. Topics are Markdown files in the package."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nczarr.cli import DONE, MISUSED, complain, list_commands, misuse, parser_of, write_product

if TYPE_CHECKING:
    import argparse

    from nczarr.cli.parser import Command

OTHER_NAMES = {
    **dict.fromkeys(("cat", "show", "ls", "list", "print", "ncdump"), "dump"),
    **dict.fromkeys(("copy", "cp", "nccopy", "export", "subset", "ncks"), "convert"),
    "ncgen": "compile",
    **dict.fromkeys(("validate", "lint"), "check"),
    **dict.fromkeys(("compare", "cmp"), "diff"),
    **dict.fromkeys(("checksum", "hash"), "digest"),
    "version": "--version",
}
"""Commands of the compiler by the name that other programs give them."""

TOPICS = Path(__file__).with_name("topics")
"""Folder of the topics: one Markdown file for each."""

USAGE = "usage: nczarr COMMAND [OPTION]…\n"

OPTIONS = """\
options:
  -h, --help      show this help and exit
  --version       show the version and exit

`nczarr help COMMAND` shows the usual options, with `all` behind it every one.
`nczarr help TOPIC` explains a topic.
"""


def parser() -> Command:
    """Return the parser of `help`."""
    from nczarr.cli.parser import Command
    from nczarr.options import ARGUMENTS

    subparser = Command(
        "help",
        "[COMMAND | TOPIC]",
        "Show the usual options of a command, with `all` every one, or explain a topic. Without arguments, list both.",
        (("show the options of a command", "help convert"), ("explain what conversions may lose", "help losses")),
    )
    subparser.option(ARGUMENTS, "name", metavar="COMMAND | TOPIC", nargs="*", help="name of a command or topic")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print the help; return 2 for an unknown name."""
    name = " ".join(arguments.name)
    pages = list(_pages(name.removesuffix(" all"), everything=name.endswith(" all")))
    if not pages:
        return misuse("help", _unknown(name))
    write_product(["\n".join(pages).encode()])
    return DONE


def _pages(name: str, *, everything: bool) -> Iterator[str]:
    """Yield the help of a command or family of commands, and the topic of that name."""
    if not name:
        yield overview()
    elif name in list_commands():
        command: Any = parser_of(name)
        yield command.format_help() if everything else command.format_common_help()
    elif _family(name):
        yield family(name)
    if name in topics():
        yield topic(name)


def topic(name: str) -> str:
    """Return the text of a topic. `{codecs}` stands for the codecs of `--codec`."""
    text = (TOPICS / f"{name}.md").read_text(encoding="utf-8")
    if "{codecs}" not in text:
        return text
    from nczarr.arrays.codecs.table import usage

    return text.replace("{codecs}", textwrap.fill(usage(), 80, break_on_hyphens=False))


def topics() -> list[str]:
    """Return the names of the topics."""
    return sorted(path.stem for path in TOPICS.glob("*.md"))


def overview() -> str:
    """Return the list of commands by task, and of topics."""
    lines = [USAGE, "Convert between netCDF, Zarr, kerchunk references and CDL, without silent loss.\n", "commands:"]
    task = ""
    for name, row in list_commands().items():
        lines += [*([f"  {row.task}"] if row.task != task else []), _line(name, row.line, 4)]
        task = row.task
    lines += ["", "topics:"]
    for name in topics():
        with (TOPICS / f"{name}.md").open(encoding="utf-8") as file:
            lines.append(f"  {name:<15} {_lower(file.readline().removeprefix('# ').strip())}")
    return "\n".join([*lines, "", OPTIONS])


def _line(name: str, line: str, indent: int) -> str:
    return f"{' ' * indent}{name:<{17 - indent}} {line}"


def _lower(title: str) -> str:
    """Return a title that begins in lower case, unless its first word is a name (`URLs`)."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _family(name: str) -> list[str]:
    """Return the commands whose first word is the name."""
    return [command_name for command_name in list_commands() if command_name.startswith(f"{name} ")]


def family(name: str) -> str:
    """Return the list of the commands of a family."""
    lines = [_line(command_name, list_commands()[command_name].line, 2) for command_name in _family(name)]
    tail = f"`nczarr {name} COMMAND --help` shows the usual options and two examples of a command.\n"
    return "\n".join([f"usage: nczarr {name} COMMAND [OPTION]…\n", "commands:", *lines, "", tail])


def _translate(name: str) -> str | None:
    """Return the command that other programs call by a name."""
    found = (command for command, row in list_commands().items() if name in row.other_names)
    return OTHER_NAMES.get(name) or next(found, None)


def _unknown(name: str) -> str:
    """Return the message for an unknown name."""
    from nczarr.diagnostics.catalog import CODES, KINDS
    from nczarr.names import closest

    if name in {*CODES, *KINDS}:
        return f"`{name}` is a diagnostic code; `nczarr explain {name}` explains it"
    meant = _translate(name) or closest(name, [*topics(), *list_commands()])
    return f"unknown command or topic `{name}`; " + (
        f"did you mean `{meant}`?" if meant else "`nczarr help` lists the commands and topics"
    )


def without_command(arguments: list[str]) -> int:
    """Run a command line that does not begin with a command; return its status."""
    from nczarr.names.plugin_index import list_faults

    first, *rest = arguments or [""]
    if first == "--version":
        from nczarr import __version__

        write_product([f"nczarr {__version__}\n".encode()])
        return DONE
    family_of = _family(first) if first else []
    if first in ("-h", "--help") or (family_of and rest[:1] in (["-h"], ["--help"])):
        write_product([(family(first) if family_of else overview()).encode()])
        return DONE
    if family_of:
        problem = f"name a command: {', '.join(command_name.removeprefix(f'{first} ') for command_name in family_of)}"
        return misuse(first, _not_known(" ".join([first, rest[0]]), family_of) if rest else problem)
    if not first:
        sys.stderr.write(USAGE)
    complain(f"nczarr: {_not_known(first, list(list_commands())) if first else 'name a command'}")
    for fault in list_faults() if first else ():
        complain(f"nczarr: {fault}")
    complain(("options follow their command; " if first[:1] == "-" else "") + "`nczarr help` lists the commands")
    return MISUSED


def _not_known(name: str, names: list[str]) -> str:
    from nczarr.names import closest

    meant = _translate(name) or closest(name, names)
    what = "option" if name.startswith("-") else "command"
    return f"unknown {what} `{name}`" + (f"; did you mean `{meant}`?" if meant else "")
