#!/usr/bin/env python3
"""`tools/deletable.py [PLUGIN…]`: remove each plugin in turn with its tests, and run the quick tests of the rest.

A copy of the tracked files loses the plugin, and those that require it. There every module is imported, twelve commands
run, and the quick tests of the core and of the whole house. What asks for the plugin skips visibly
(`tests/support/plugins.py`); nothing may fail. Without names: all plugins. Prints a line for each; the exit status is 1
if one failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nczarr.names import plugin_index  # noqa: E402

SAMPLE = "samples/02-grid-groups.cdl"
IMPORTS = """
import importlib, pkgutil, nczarr
for module in pkgutil.walk_packages(nczarr.__path__, "nczarr.", onerror=print):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            if (error.name or "").startswith("nczarr"):
                raise
"""
"""A module may need a package that is not installed, but none of ours."""
COMMANDS = (
    "check {}",
    "compile {} -o a.zarr",
    "compile {} -o a.nc",
    "convert a.nc b.zarr --to nczarr",
    "dump a.zarr",
    "diff a.zarr b.zarr",
    "digest a.nc b.zarr",
    "info a.nc",
    "rechunk a.zarr c.zarr --chunks auto",
    "explain undefined-type",
    "formats",
    "plugins",
)


def list_dependents(name: str) -> set[str]:
    """Return a plugin and those that cannot be loaded without it."""
    rows = {found.name: plugin_index.load(found)[0] for found in plugin_index.list_plugins()}
    gone, before = {name}, 0
    while len(gone) > before:
        before = len(gone)
        gone |= {other for other, row in rows.items() if row is not None and gone.intersection(row.requires)}
    return gone


def copy_without(names: Iterable[str], folder: Path) -> None:
    """Make a repository of the tracked files without some plugins and their tests."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    gone = tuple(f"{parent}/plugins/{name}/" for name in names for parent in ("nczarr", "tests"))
    for path in listed.split("\0"):
        if path and not path.startswith(gone) and (ROOT / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)


def run_commands(folder: Path, environment: dict[str, str]) -> bool:
    """Import every module that is left, and run commands of the core; print what fails."""
    with tempfile.TemporaryDirectory() as scratch:
        for line in (IMPORTS, *COMMANDS):
            arguments = ["-c", line] if line is IMPORTS else ["-m", "nczarr", *line.format(folder / SAMPLE).split()]
            done = subprocess.run(
                [sys.executable, *arguments], cwd=scratch, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                print(line, done.stdout, done.stderr, sep="\n")
                return False
    return True


def try_without(name: str) -> bool:
    """Run the quick tests without one plugin, and print a line about them."""
    gone, start = list_dependents(name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"without-{name}-") as temporary:
        folder = Path(temporary) / "main"
        folder.mkdir()
        copy_without(gone, folder)
        shared = os.environ.get("NCZARR_SHARED", str(ROOT.parent / "shared"))
        environment = {**os.environ, "PYTHONPATH": str(folder), "NCZARR_SHARED": shared}
        own = [] if "testing" not in gone else ["-p", "no:nczarr"]  # pytest would load its fixtures
        tests = ["tests/core", *sorted(str(path.relative_to(folder)) for path in folder.glob("tests/test_*.py"))]
        command = [sys.executable, "-m", "pytest", *own, *tests, "-m", "not slow and not long"]
        command += ["-p", "no:cacheprovider", "-n", os.environ.get("WORKERS", "auto"), "--dist=worksteal", "--tb=short"]
        if not run_commands(folder, environment):
            print(f"without {name}: a module or a command failed", flush=True)
            return False
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    said = re.findall(r"^\d+ (?:passed|failed|skipped|error).*", done.stdout, re.MULTILINE)
    also = f" (and {', '.join(sorted(gone - {name}))})" if len(gone) > 1 else ""
    print(f"without {name}{also}: {said[-1] if said else 'no tests'}, {time.monotonic() - start:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    return done.returncode == 0


if __name__ == "__main__":
    known = sorted(path.parent.name for path in (ROOT / "nczarr" / "plugins").glob("*/plugin.py"))
    passed = list(map(try_without, sys.argv[1:] or known))
    sys.exit(not all(passed))
