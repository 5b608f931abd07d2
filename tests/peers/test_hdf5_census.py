"""Every object of every HDF5 file of the corpora is in the tree, or a named omission.

The census of a file is made by h5py alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.dimension_scales import INTERNAL, OF_SCALES
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_source
from tests.conftest import run_command, shared_folder
from tests.support.peers import exactness

SHARED = shared_folder()
SIGNATURE = b"\x89HDF\r\n\x1a\n"
NON_COORDINATE = "_nc4_non_coord_"


def list_files() -> list[Path]:
    """HDF5 files of the shared data, and of a folder with real files, if there is one."""
    folders = [] if SHARED is None else [SHARED / "data" / name for name in ("hdf5-odd", "hdf5-field")]
    real = exactness.real_folder()
    folders += [] if real is None else [real]
    every = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in every if any(path.read_bytes()[at : at + 8] == SIGNATURE for at in (0, 512, 1024, 2048))]


def take_census(path: Path) -> list[dict[str, Any]]:
    assert SHARED is not None
    command = [sys.executable, str(SHARED / "tools" / "census"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)  # fails at filters without a library, after all else
    return [json.loads(line) for line in done.stdout.splitlines()]


class Census:
    """Objects of a file that are not in the tree, by kind."""

    def __init__(self, path: Path, checked: Checked) -> None:
        self.checked = checked
        self.texts = [one.text for one in checked.omitted]
        self.rows = take_census(path)
        self.attributes = {(row["path"].rpartition("@")[0], row["path"].rpartition("@")[2]) for row in self.rows}

    def list_missing(self) -> Iterator[str]:
        """Yield what is neither in the tree nor named."""
        for row in self.rows:
            kind, path = row["kind"], row["path"]
            owner, at, name = path.partition("@") if kind == "attribute" else (path, "", "")
            if not (self._holds(kind, owner, name) or self._names(owner, at, name)):
                yield f"{kind} {path} {row.get('type', '')} {row.get('shape', '')}"

    def _holds(self, kind: str, owner: str, name: str) -> bool:
        fqn = names.fqn(names.normal(part.removeprefix(NON_COORDINATE)) for part in owner.split("/") if part)
        tree = self.checked
        if kind == "attribute":
            node = tree.variables.get(fqn) or tree.groups.get(fqn)
            is_scale = (owner, "CLASS") in self.attributes
            if name in INTERNAL or (is_scale and name in OF_SCALES) or (is_scale and name == "DIMENSION_LABELS"):
                return True
            if node is None:  # a scale without a variable
                return fqn in tree.dimensions and name in OF_SCALES | INTERNAL
            return any(attribute.name == names.normal(name) for attribute in node.attributes)
        if kind == "type":
            return fqn in tree.types
        if kind == "group":
            return fqn in tree.groups
        return fqn in tree.variables or fqn in tree.dimensions or fqn in tree.groups

    def _names(self, owner: str, at: str, name: str) -> bool:
        """Return whether an omission names an item, or a group above it."""
        if at and any(f"attribute `{name}` of `{owner}`" in text for text in self.texts):
            return True
        parts = owner.split("/")
        above = ["/".join(parts[:count]) for count in range(2, len(parts) + 1)]
        return any(f"`{place}`" in text and "attribute" not in text for place in above for text in self.texts)


@pytest.mark.long
@pytest.mark.skipif(not list_files(), reason="shared data are not beside the clone")
def test_every_object_is_in_the_tree_or_named(peer: Callable[[str], ModuleType]) -> None:
    peer("h5py")
    missing, reasons, objects = [], Counter[str](), 0
    for path in list_files():
        report = Report(limit=100_000)
        checked = phases.read(open_source(str(path)), report, Options())
        assert checked is not None, (path.name, report.list_sorted())
        census = Census(path, checked)
        missing += [f"{path.name}: {one}" for one in census.list_missing()]
        objects += len(census.rows)
        reasons.update(one.code for one in checked.omitted)
    print(f"{len(list_files())} files, {objects} objects, omissions {dict(reasons)}")
    assert missing == []
    assert objects > 5000


@pytest.mark.skipif(not list_files(), reason="shared data are not beside the clone")
def test_a_file_with_omissions_is_not_converted(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("h5py")
    count = 0
    for path in list_files()[:: 1 if os.environ.get("NCZARR_RANDOM") else 3]:
        checked = phases.read(open_source(str(path)), Report(), Options.of(aggregation="expand"))
        if checked is None or not checked.omitted:
            continue
        done = run_command("convert", "-q", str(path), str(tmp_path / "t.zarr"))
        assert done.status == 1, path.name
        assert "unread" in done.err
        assert all(one.text in done.err for one in checked.omitted)
        assert not (tmp_path / "t.zarr").exists()
        count += 1
    assert count > 3
