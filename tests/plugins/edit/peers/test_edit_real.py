"""Edits of real files: exactly the edit is seen, values stay, and an undo restores every byte."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.edited import by_netcdf4
from tests.support.peers import exactness

pytestmark = [pytest.mark.peer, pytest.mark.slow]

REAL = exactness.real_folder()
LARGEST = int(os.environ.get("NCZARR_EDIT_LARGEST", "3000000"))
FILES = [] if REAL is None else [each.path for each in exactness.real(REAL) if each.path.stat().st_size < LARGEST]
REFUSALS = ("data-edit", "uneditable-target", "bad-edit")


def edits(dataset: Any) -> list[tuple[str, ...]]:
    """Edits of each kind that the dataset allows."""
    checked = dataset.checked
    listed: list[tuple[str, ...]] = [("--set", "@nczarr_test=1s,2s"), ("--set", '@nczarr_test="a text"')]
    variables = list(checked.variables)
    for path in (variables[0], variables[len(variables) // 2], variables[-1]) if variables else ():
        path_text = path.replace("@", "\\@").replace("=", "\\=")
        listed.append(("--rename", f"{path_text}=renamed_by_test"))
        listed.append(("--rename", f"var:{path_text}=renamed_by_test"))
        listed.append(("--delete", path_text))
        attributes = [
            item.name
            for item in checked.variables[path].attributes
            if item.name != "_FillValue" and item.name.isidentifier()
        ]
        for name in attributes[:1]:
            listed.append(("--set", f'{path_text}@{name}="x"'))
            listed.append(("--delete", f"{path_text}@{name}"))
    listed += [("--rename", f"dim:{path}=renamed_dim") for path in list(checked.dimensions)[:2]]
    listed += [("--rename", f"{path}=renamed_group") for path in list(checked.groups)[1:2]]
    return listed


def changed(edit: tuple[str, ...], path: str) -> bool:
    """Whether a variable may differ after an edit."""
    place = edit[1].partition("=")[0].partition("@")[0].rpartition(":")[2]
    return place in (path, "") or path.startswith(place + "/")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_file(path: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    peer("h5py")
    dataset = nczarr.open(path)
    done = 0
    for number, edit in enumerate(edits(dataset)):
        target = tmp_path / f"{number}{path.suffix}"
        shutil.copy(path, target)
        ran = run_command("edit", str(target), *edit)
        if ran.status:
            assert any(f"error[{code}]" in ran.err for code in REFUSALS), (edit, ran.err)
            assert target.read_bytes() == path.read_bytes()
            continue
        done += 1
        new = nczarr.open(target)
        differences = [item for item in nczarr.diff(dataset, new, data=False) if item.kind != "attribute-order"]
        assert differences or "nothing to change" in ran.err, edit
        if edit[0] == "--set":
            assert len(differences) == 1, (edit, differences)
        for name in dataset.checked.variables:
            if name in new.checked.variables and "dim:" not in edit[1] and not changed(edit, name):
                assert [item for item in differences if item.path == name] == [] or edit[0] == "--rename", (edit, name)
        values = [item for item in nczarr.diff(dataset, new) if item.kind == "values"]
        assert values == [], (edit, values[:1])
        try:
            shown = by_netcdf4(path, values=False)
        except (OSError, RuntimeError, UnicodeDecodeError, AttributeError):
            shown = None  # a file that the library does not open
        if shown is not None:
            assert by_netcdf4(target, values=False) != shown or "nothing to change" in ran.err, edit
        if "nothing to change" not in ran.err:
            ran = run_command("edit", str(target), "--undo", f"{target}.undo-1.json")
            assert ran.status == 0, ran.err
        assert target.read_bytes() == path.read_bytes()
        target.unlink()
    if not done:
        pytest.skip("every edit is refused")
