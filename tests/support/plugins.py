"""Plugins that were removed: tests that need them skip visibly, and `make deletable` removes each in turn.

A test, or a helper, that imports a module of an absent plugin is skipped by `tests/conftest.py`. The mark
`plugin("combine")` says of a test or a case that it needs one otherwise, as it runs a command.
"""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from nczarr.plugins import OFFERS

ROOT = Path(__file__).resolve().parents[2]
ABSENT = frozenset(name for name in OFFERS if not (ROOT / "nczarr" / "plugins" / name / "plugin.py").exists())
"""Built-in plugins that were removed."""


def offered_by_absent(kind: str) -> dict[str, str]:
    """Return what absent plugins would offer of a kind, such as `command`, with the plugin of each."""
    rows = ((name, each.partition(" ")) for name in ABSENT for each in OFFERS[name])
    return {offer: name for name, (found, _, offer) in rows if found == kind}


def skip_without(*names: str) -> None:
    """Skip the test that runs, if one of these plugins is absent."""
    gone = sorted(ABSENT.intersection(names))
    if gone:
        pytest.skip(f"plugin {gone[0]} was removed")


def find_absent(error: BaseException | None) -> str:
    """Return the absent plugin of which a file of tests imports a module; empty for every other error."""
    if not isinstance(error, ModuleNotFoundError) or not ABSENT:
        return ""
    name = f"{error.name}..".split(".")[2] if str(error.name).startswith("nczarr.plugins.") else ""
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    importer = next((file for file in reversed(frames) if not file.startswith("<")), "")
    return name if name in ABSENT and Path(importer).is_relative_to(ROOT / "tests") else ""
