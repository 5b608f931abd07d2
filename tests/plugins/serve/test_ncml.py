"""NcML documents below the root: their files are watched, and lead out of the root as little as references do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.options import Following
from nczarr.plugins.serve import dataset_cache
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.dataset_cache import Shelf
from nczarr.plugins.serve.places import Root, ServedPlace
from nczarr.plugins.serve.resources import Limits
from tests.support.ncml_files import write_ncml

TEXT = "netcdf t {{ dimensions: x = 1 ; variables: int x(x) ; data: x = {} ; }}"
SCAN = '<aggregation type="joinExisting" dimName="x"><scan location="files" suffix=".cdl"/></aggregation>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "files").mkdir(parents=True)
    for number in (1, 2):
        write(folder / "files" / f"{number}.cdl", number)
    return folder


def write(path: Path, number: int) -> None:
    path.write_text(TEXT.format(number))
    os.utime(path, (1e9 + number, 1e9 + number))


def shelf(root: Path) -> Shelf:
    return Shelf(Limits(), Following(roots=(str(root) + os.sep,), hidden=False), NO_OPTIONS)


def place(root: Path, name: str) -> ServedPlace:
    os.utime(root / name, (1e9, 1e9))
    served = Root(str(root)).find([name])
    assert served is not None
    return served


def test_a_document_follows_its_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file of a scanned folder is there when its facts are compared again, and so is a changed one."""
    for name in ("LOOKED", "WATCHED"):
        monkeypatch.setattr(dataset_cache, name, -1.0)
    write_ncml(root / "a.ncml", SCAN)
    served, kept = place(root, "a.ncml"), shelf(root)
    assert kept.open(served).checked.dimensions["/x"].size == 2
    assert kept.find_unchanged(served) is not None
    write(root / "files" / "3.cdl", 3)
    assert kept.find_unchanged(served) is None
    assert kept.open(served).checked.dimensions["/x"].size == 3
    write(root / "files" / "3.cdl", 4)
    assert kept.find_unchanged(served) is None


@pytest.mark.parametrize("location", ["../out.cdl", "{}/out.cdl", "file:{}/out.cdl", "files/link.cdl", ".hidden.cdl"])
def test_what_a_document_may_not_name(root: Path, location: str) -> None:
    outside = root.parent / "out.cdl"
    write(outside, 7)
    write(root / ".hidden.cdl", 7)
    os.symlink(outside, root / "files" / "link.cdl")
    write_ncml(root / "a.ncml", "", f'location="{location.format(root.parent)}"')
    with pytest.raises(CompileError, match="forbidden-target"):
        shelf(root).open(place(root, "a.ncml"))


def test_messages_do_not_name_the_root(root: Path) -> None:
    write(root / "files" / "1.cdl", 1)
    (root / "files" / "2.cdl").write_text("netcdf t { variables: int y ; }")
    for number, content in enumerate((SCAN, SCAN.replace("files", "nowhere"), SCAN.replace(".cdl", ".none"))):
        write_ncml(root / f"{number}.ncml", content)
        with pytest.raises(CompileError) as raised:
            shelf(root).open(place(root, f"{number}.ncml"))
        assert all(str(root) not in one.message for one in raised.value.diagnostics), raised.value


def test_files_that_lead_out_of_the_root(root: Path, peer: Callable[[str], ModuleType]) -> None:
    """The library would open the file that a member links to."""
    h5py = peer("h5py")
    with h5py.File(root.parent / "secret.h5", "w") as file:
        file["v"] = 1
    with h5py.File(root / "files" / "a.h5", "w") as file:
        file["l"] = h5py.ExternalLink(str(root.parent / "secret.h5"), "/v")
    os.utime(root / "files" / "a.h5", (1e9, 1e9))
    write_ncml(root / "a.ncml", "", 'location="files/a.h5"')
    write_ncml(root / "b.ncml", "", 'location="a.ncml"')
    for name in ("a.ncml", "b.ncml"):
        with pytest.raises(RefusedRequestError, match="forbidden-target"):
            shelf(root).open(place(root, name))
