"""`nczarr plugins`: list the plugins of this installation, with their versions and what they add."""

import argparse

from nczarr.cli import DONE, FAULTY, complain, write_product
from nczarr.cli.parser import Command
from nczarr.names.plugin_index import Plugin, list_plugins, load
from nczarr.registry import list_faults

EXAMPLES = (("list the plugins", "plugins"), ("explain what plugins add", "help plugins"))


def parser() -> Command:
    """Return the parser of `plugins`."""
    subparser = Command(
        "plugins",
        "[OPTION]…",
        "List the plugins that are installed, with their versions and what they add: commands, and names of the "
        "Python package. One that cannot be loaded is listed with its fault; the others work.",
        EXAMPLES,
    )
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each plugin; return 1 if one cannot be loaded."""
    status = DONE
    for found in list_plugins():
        plugin, fault = load(found)
        if plugin is None:
            status = FAULTY
            complain(f"nczarr: plugin `{found.name}` cannot be loaded: {fault}")
            continue
        added = "; ".join(f"{what}: {', '.join(names)}" for what, names in _list_added(plugin).items() if names)
        line = f"{found.name:<14} {found.version:<8} {plugin.line}{f' ({added})' if added else ''}"
        write_product([f"{line}\n".encode("utf-8", "surrogateescape")])
    for fault in list_faults():
        status = FAULTY
        complain(f"nczarr: {fault}")
    return status


def _list_added(plugin: Plugin) -> dict[str, list[str]]:
    return {
        "formats": list(plugin.formats),
        "commands": list(plugin.commands),
        "names": [f"nczarr.{name}" for name in plugin.names],
        "checks": [*plugin.conventions, *plugin.checks],
        "codecs": list(plugin.codecs),
        "protocols": list(plugin.protocols),
    }
