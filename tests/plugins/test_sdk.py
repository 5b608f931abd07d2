"""The SDK: few names, each of which exists, is documented, and is what type checkers see."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import nczarr.sdk as sdk

MOST = 150
"""Names that plugins may use."""


def list_typed() -> set[tuple[str, str]]:
    """Return module and name of what `nczarr.sdk` imports for type checkers."""
    tree = ast.parse(Path(str(sdk.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    return {(str(node.module), name.name) for node in imports for name in node.names}


def test_type_checkers_see_what_there_is() -> None:
    assert list_typed() == {(module, name) for module, names in sdk.PLACES.items() for name in names}


def test_names_are_few_distinct_and_documented() -> None:
    names = [name for its_names in sdk.PLACES.values() for name in its_names]
    own = [name for name, value in vars(sdk).items() if getattr(value, "__module__", "") == sdk.__name__]
    assert len(names) + len(own) <= MOST
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(sdk, name)
        assert not (callable(value) and value.__module__.startswith("nczarr.") and not value.__doc__), name
    assert set(names) <= set(dir(sdk))


def test_a_row_loads_little() -> None:
    code = "import sys; from nczarr.sdk import CommandRow, Plugin, ProtocolRow; print(len(sys.modules))"
    without = subprocess.run([sys.executable, "-c", "import sys, nczarr; print(len(sys.modules))"], **RUN)
    with_row = subprocess.run([sys.executable, "-c", code], **RUN)
    assert int(with_row.stdout) - int(without.stdout) <= 6


RUN = {"capture_output": True, "text": True, "check": True}
