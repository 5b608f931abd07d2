"""Options that flatten or restore groups: passes over the tree, before those of `--pass`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from nczarr.sdk import TARGET, Option, RunWrapper, misuse

PLACE = "nczarr.plugins.flatten"

OPTIONS = (
    Option(
        "flatten_groups",
        section=TARGET,
        flags="--flatten-groups",
        help="move the content of all groups into the root, as `GROUP__NAME`, by the rules of CF's netcdf-flattener",
    ),
    Option(
        "restore_groups",
        section=TARGET,
        flags="--restore-groups",
        help="move flattened content back into its groups",
    ),
)


def run(arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str]) -> int:
    """Run a command with the pass that an option names; return its status."""
    if arguments.flatten_groups and arguments.restore_groups:
        return misuse(arguments.command, "--flatten-groups and --restore-groups exclude each other")
    if not (arguments.flatten_groups or arguments.restore_groups):
        return call(arguments)
    place = f"{PLACE}.restoring:restore_groups" if arguments.restore_groups else f"{PLACE}.flattening:flatten_groups"
    if arguments.flatten_groups and (arguments.kind not in (None, "nc4") or arguments.to == "netcdf3"):
        place = f"{PLACE}.flattening:flatten_for_classic"
    passes = [place, *(arguments.passes or ())]
    return call(argparse.Namespace(**{**vars(arguments), "passes": passes}))


WRAPPER = RunWrapper(OPTIONS, run, if_given=True)
