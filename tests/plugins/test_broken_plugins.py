"""Plugins of other distributions with faults: each is named, and everything else works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROW = """
from nczarr.sdk import CommandRow, Plugin, ProtocolRow

PLUGIN = Plugin(
    "bad",
    "plugin with faults",
    formats={"cells": "bad_plugin.parts:CELLS", "unread": "bad_plugin.parts:UNREAD", "zarr3": "bad_plugin.parts:TAKEN",
             "odd": "bad_plugin.parts:ODD", "gone": "bad_plugin.none:FORMAT"},
    commands={"convert": CommandRow("bad_plugin.parts:fail", "taken", ""),
              "broken": CommandRow("bad_plugin.parts:fail", "broken", "inspect and compare")},
    checks={"rules": "bad_plugin.none:CHECK"},
    codes="/none",
    codecs={"odd": "bad_plugin.none:CODEC"},
    protocols={"browse": ProtocolRow("bad_plugin.none:answer", "taken")},
)
"""

PARTS = """
from nczarr import sdk
from nczarr.sdk import Format

TAKEN = Format(name="zarr3", title="", suffixes=(".zarr",), spec="", read="bad_plugin.parts:fail")
ODD = Format(name="odd", title="", suffixes=(".odd",), spec="", read="bad_plugin.parts:fail")
CELLS = Format(name="cells", title="", suffixes=(".cells",), spec="", read="bad_plugin.parts:read")
UNREAD = Format(name="unread", title="", suffixes=(".unread",), spec="", read="bad_plugin.parts:reed")


def read(source, report, options):
    values = sdk.np.zeros(2, "<i4")
    array = sdk.ArrayInMemory(sdk.Layout("<i4", (2,), (2,)), values)
    variable = sdk.Variable(name="v", type="int", dimensions=("/x",))
    dataset = sdk.Dataset(name="a", dimensions=(sdk.Dimension(name="x", size=3),), variables=(variable,))
    return sdk.Unchecked(dataset, parts={"/v": {"": array}})


def fail(*given):
    raise KeyError("part")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the installed distribution, and two sources."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "bad_plugin").mkdir()
    for name, text in {"__init__": "", "plugin": ROW, "parts": PARTS, "worse": "raise RuntimeError"}.items():
        (folder / "bad_plugin" / f"{name}.py").write_text(text)
    (folder / "bad_plugin-1.dist-info").mkdir()
    (folder / "bad_plugin-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: bad_plugin\nVersion: 1\n")
    rows = "[nczarr.plugins]\nbad = bad_plugin.plugin:PLUGIN\nworse = bad_plugin.worse:PLUGIN\n"
    (folder / "bad_plugin-1.dist-info" / "entry_points.txt").write_text(rows)
    (folder / "a.cdl").write_text("netcdf a { variables: int v ; data: v = 1 ; }")
    for name in ("odd", "cells", "unread", "none"):
        (folder / f"a.{name}").write_text("odd")
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("plugins", 1, "plugin `worse` cannot be loaded: RuntimeError"),
        ("plugins", 1, "format `zarr3` of bad_plugin.parts:TAKEN is not used: the name is taken by"),
        ("plugins", 1, "format `gone` of bad_plugin.none:FORMAT is not used: bad_plugin.none:FORMAT cannot be loaded"),
        ("convert a.cdl a.zarr --to zarr3 --overwrite", 0, "Zarr v3"),
        ("dump a.odd", 1, "`bad_plugin.parts` failed: KeyError: 'part'"),
        ("dump a.odd", 1, "this is a fault of the plugin that has the package `bad_plugin`"),
        ("dump a.none", 1, "format `gone` of bad_plugin.none:FORMAT is not used"),
        ("convert a.cells b.zarr", 1, "variable `/v` has an array of the shape (2,), its dimensions have (3,)"),
        ("dump a.unread", 1, "bad_plugin.parts:reed cannot be loaded: AttributeError"),
        ("dump a.unread", 1, "this is a fault of a plugin"),
        ("broken", 1, "the command `broken` of bad_plugin.parts:fail cannot be made: KeyError: 'part'"),
        ("check --for rules a.cdl", 2, "bad_plugin.none:CHECK cannot be loaded: ModuleNotFoundError"),
        ("help", 0, ""),
        ("formats", 0, ""),
        ("nothing", 2, "plugin `worse` cannot be loaded"),
    ],
)
def test_faults_are_named(place: Path, words: str, status: int, message: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(place), str(ROOT)))}
    command = [sys.executable, "-m", "nczarr", *words.split()]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
