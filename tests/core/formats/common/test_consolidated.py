"""Consolidated metadata as text: what repeats the documents is recognised, and everything else is decoded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.formats.common.consolidated import consolidate, match_documents

DOCUMENTS = {
    ".zgroup": b'{"zarr_format": 2}',
    "a/.zattrs": '{"x": "}, \\"b/.zarray\\": {ü"}'.encode(),
    "é/.zarray": b"[1, 2]",
}


SCHEMA = 'netcdf a { dimensions: x = 2; variables: int v(x); v:units = "K"; }'


def test_the_text_of_a_writer_is_recognised() -> None:
    text = consolidate(DOCUMENTS.items())
    assert match_documents(text, DOCUMENTS.get) == list(DOCUMENTS)
    assert json.loads(text)["metadata"] == {key: json.loads(text) for key, text in DOCUMENTS.items()}


@pytest.mark.parametrize("key", DOCUMENTS)
@pytest.mark.parametrize("other", [None, b"{}", b'{"zarr_format": 2} ', b""])
def test_another_document_is_not(key: str, other: bytes | None) -> None:
    text = consolidate(DOCUMENTS.items())
    changed = {name: other if name == key else data for name, data in DOCUMENTS.items()}
    assert match_documents(text, changed.get) is None


@pytest.mark.parametrize("text", [b"", b"{}", b'{"metadata": {}, "zarr_consolidated_format": 1} '])
def test_other_texts_are_not(text: bytes) -> None:
    assert match_documents(text, DOCUMENTS.get) is None
    whole = consolidate(DOCUMENTS.items())
    for cut in (whole[1:], whole[:-1], whole.replace(b'": ', b'":'), whole.replace(b"}, ", b"}")):
        assert match_documents(cut, DOCUMENTS.get) is None


def test_a_store_without_documents_is_recognised() -> None:
    assert match_documents(consolidate(()), DOCUMENTS.get) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text, None),
        (lambda text: text.replace(b'"units": "K"', b'"units": "C"'), "differ from: `v/.zattrs`"),
        (lambda text: text.replace(b'"v/.zattrs"', b'"w/.zattrs"'), "have documents that do not exist: `w/.zattrs`"),
        (lambda text: text.replace(b"}, ", b"},"), None),
    ],
)
def test_every_difference_is_reported(tmp_path: Path, change: Callable[[bytes], bytes], said: str | None) -> None:
    nczarr.write(nczarr.from_cdl(SCHEMA), tmp_path / "a.zarr")
    document = tmp_path / "a.zarr" / ".zmetadata"
    document.write_bytes(change(document.read_bytes()))
    found = [str(each) for each in nczarr.open(tmp_path / "a.zarr").diagnostics]
    assert [said in each for each in found] == ([] if said is None else [True])


def test_a_document_that_is_not_listed_is_reported(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(SCHEMA), tmp_path / "a.zarr")
    other = tmp_path / "a.zarr" / "w"
    other.mkdir()
    for name in (".zarray", ".zattrs"):
        (other / name).write_bytes((tmp_path / "a.zarr" / "v" / name).read_bytes())
    with nczarr.open(tmp_path / "a.zarr") as found:
        assert list(found.variables) == ["v", "w"]
        stale = [str(each) for each in found.diagnostics if each.code == "stale-consolidation"]
        assert ["lack: " in each and "w/.zarray" in each for each in stale] == [True]
