"""Names of groups with blanks and backslashes in the engine, and hints as texts of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr

xr = pytest.importorskip("xarray")


@pytest.mark.parametrize("name", ["g r", "a.b", "back\\slash", "back\\ blank", "Täg", "g  r", "end\\"])
def test_a_group_is_named_as_it_is_or_escaped(name: str, tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({f"/outer x/{name}": xr.Dataset({"v": ("x", [1])})})
    nczarr.write(tree, tmp_path / "a.nc")
    (path,) = [path for path in nczarr.open(tmp_path / "a.nc").checked.groups if path.count("/") == 2]
    for group in (f"/outer x/{name}", f"outer x/{name}/", path, path[1:]):
        with xr.open_dataset(tmp_path / "a.nc", engine="nczarr", group=group) as found:
            assert list(found) == ["v"]
        with xr.open_datatree(tmp_path / "a.nc", engine="nczarr", group=group) as found:
            assert list(found) == ["v"]


def test_hints_of_names_are_python_texts(tmp_path: Path) -> None:
    nczarr.write(xr.DataTree.from_dict({"/group r": xr.Dataset({"v w": ("x", [1])})}), tmp_path / "a.nc")
    with pytest.raises(OSError, match=r"did you mean `/group r`\?"):
        xr.open_dataset(tmp_path / "a.nc", engine="nczarr", group="groupr")
    with pytest.raises(OSError, match=r"did you mean `/group r`\?"):
        xr.open_dataset(tmp_path / "a.nc", engine="nczarr", group="group\\ rr")
    handle = nczarr.open(tmp_path / "a.nc")
    with pytest.raises(KeyError, match="did you mean `/group r/v w`"):
        handle["/group r/vw"]
    assert handle["/group r/v w"].path == handle["/group\\ r/v\\ w"].path
