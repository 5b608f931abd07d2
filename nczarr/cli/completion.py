"""`nczarr completion SHELL`: print a script that completes commands and options in a shell."""

import argparse

from nczarr.cli import list_commands, parser_of, write_product
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.options import ARGUMENTS

SHELLS = ("bash", "zsh", "tcsh")

EXAMPLES = (
    ("write a script for bash; `source nczarr.bash` loads it", "completion bash > nczarr.bash"),
    ("write a script for zsh, to be put into a folder of `fpath`", "completion zsh > _nczarr"),
)

_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
"""Completion of paths in shtab's words."""

PATHS = {"SRC", "DST", "A", "B", "SCHEMA", "ROOT", "FILE", "URL"}
"""Metavars of arguments that may be paths."""


def parser() -> Command:
    """Return the parser of `completion`."""
    subparser = Command(
        "completion",
        "[OPTION]… SHELL",
        "Print a script for a shell that completes commands, options, formats, topics and paths. The script is static: "
        "completion does not start nczarr.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or tcsh")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    return Messages(arguments).guard(lambda: write_product([script(arguments.shell).encode()]))


def script(shell: str) -> str:
    """Return the script for a shell. Raises ImportError without shtab."""
    import shtab

    text: str = shtab.complete(tree(), shell)
    return text


def tree() -> argparse.ArgumentParser:
    """Return one parser with all commands, as shtab reads it."""
    top = argparse.ArgumentParser(prog="nczarr", add_help=False)
    top.add_argument("-h", "--help", action="store_true", help="show this help and exit")
    top.add_argument("--version", action="store_true", help="show the version and exit")
    commands = top.add_subparsers(metavar="COMMAND")
    families: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for name, row in list_commands().items():
        command_parser = parser_of(name)
        assert isinstance(command_parser, Command)
        _prepare(name, command_parser)
        family, _, verb = name.rpartition(" ")
        if family and family not in families:
            subparser = commands.add_parser(family, help=f"{family} COMMAND", add_help=False)
            families[family] = subparser.add_subparsers(metavar="COMMAND")
        place = families[family] if family else commands
        place.add_parser(verb, help=row.line, parents=[command_parser], add_help=False)
    return top


def _prepare(name: str, subparser: Command) -> None:
    """Tell shtab what the arguments of a command may be."""
    from nczarr.cli.help import topics
    from nczarr.diagnostics.accepted_losses import list_allowed
    from nczarr.diagnostics.catalog import CODES, KINDS
    from nczarr.registry import formats

    for action in subparser.actions():
        if action.metavar in PATHS:
            action.complete = _FILES  # type: ignore[attr-defined]
        elif action.metavar == "FORMAT" and action.choices is None:
            action.choices = [form.name for form in formats()]
        elif action.metavar == "CODE":
            action.choices = sorted({*CODES, *KINDS} if name == "explain" else list_allowed())
        elif name == "help" and action.dest == "name":
            action.choices = sorted(
                {*topics(), *(word for command_name in list_commands() for word in command_name.split())}
            )
