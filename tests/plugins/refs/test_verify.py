"""Documents whose targets are gone, cut, changed or damaged are found out, key by key."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr import refs
from nczarr.options import Following
from tests.conftest import Ran

TEXT = """netcdf t {
dimensions:
  x = 8 ; y = 100 ;
variables:
  int v(x, y) ;
    v:_ChunkSizes = 1, 100 ;
    v:_DeflateLevel = 1 ;
  int w(y) ;
data:
  v = VALUES ;
  w = WHOLE ;
}
"""

Command = Callable[..., Ran]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """References to the eight chunks of `v` and the one of `w` in a file."""
    values = ", ".join(str(each * each) for each in range(800))
    text = TEXT.replace("VALUES", values).replace("WHOLE", ", ".join(map(str, range(100))))
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc")
    nczarr.convert(tmp_path / "t.nc", tmp_path / "t.json")
    return tmp_path / "t.json"


def target(document: Path) -> Path:
    return document.with_suffix(".nc")


def references(document: Path) -> dict[str, list[Any]]:
    return {key: value for key, value in refs.expand(document).items() if isinstance(value, list)}


def put_back(path: Path, data: bytes) -> None:
    """Other bytes in a file of the same size and time."""
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def faults(document: Any, **options: Any) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in refs.verify(document, **options)]


def test_a_sound_document(document: Path, nczarr_command: Command) -> None:
    assert faults(document) == faults(document, chunks="all") == faults(document, chunks="none") == []
    ran = nczarr_command("refs", "verify", str(document))
    assert (ran.status, ran.out) == (0, b"")
    assert ran.err == f"`{document}`: 9 references, 1 target, 5 chunks read\n"
    assert "9 chunks read" in nczarr_command("refs", "verify", str(document), "--chunks", "all").err
    assert "0 chunks read" in nczarr_command("refs", "verify", str(document), "--chunks", "none").err
    assert "3 chunks read" in nczarr_command("refs", "verify", str(document), "--sample", "2").err


def test_a_target_that_is_gone(document: Path, nczarr_command: Command) -> None:
    target(document).unlink()
    ran = nczarr_command("refs", "verify", str(document))
    assert ran.status == 3
    (found,) = refs.verify(document)
    assert found.code == "unreachable-target"
    assert f"`file://{target(document)}`, the target of `v/0.0`, cannot be reached" in found.message
    assert found.notes == ("9 references name it",)


def test_a_target_that_was_cut(document: Path, nczarr_command: Command) -> None:
    last = max(references(document).items(), key=lambda entry: entry[1][1])
    url, offset, length = last[1]
    put_back(target(document), target(document).read_bytes()[: offset + length - 1])
    ran = nczarr_command("refs", "verify", str(document), "--chunks", "all")
    assert ran.status == 1
    size = offset + length - 1
    assert (
        "range-beyond-target",
        f"`{last[0]}` refers to {length} bytes at {offset} of `{url}`, which has {size}",
    ) in (faults(document))
    assert {code for code, _ in faults(document)} == {"range-beyond-target", "changed-target"}


def test_a_target_that_has_changed(document: Path) -> None:
    os.utime(target(document), ns=(0, 1_700_000_000 * 10**9))
    ((code, message),) = faults(document)
    assert code == "changed-target"
    assert message.startswith(
        f"`file://{target(document)}`, the target of `v/0.0`, has changed: its modification time was "
    )
    assert message.endswith(" and is now 2023-11-14T22:13:20Z")


@pytest.mark.parametrize("form", ["json", "parq"])
def test_every_reader_tells_a_changed_target(document: Path, form: str, nczarr_command: Command) -> None:
    place = document.with_name(f"all.{form}")
    refs.combine([target(document)], place, along="x")
    assert not nczarr.open(place).diagnostics
    assert not [each for each in nczarr.check(place, data=True) if each.code == "changed-target"]
    os.utime(target(document), ns=(0, 1_700_000_000 * 10**9))
    with nczarr.open(place) as opened:
        assert [(each.code, str(each.severity)) for each in opened.diagnostics] == [("changed-target", "warning")]
    out = str(document.with_suffix(".zarr"))
    for words in (("dump", str(place)), ("digest", str(place)), ("convert", str(place), out)):
        ran = nczarr_command(*words)
        assert ran.status == 0
        assert ran.err.count("warning[changed-target]") == 1, words
    for words in (("check", "--data", str(place)), ("convert", str(place), out, "--overwrite", "--verify")):
        ran = nczarr_command(*words)
        assert ran.status == 1
        assert ran.err.count("error[changed-target]") == 1, words
    assert [(each.code, str(each.severity)) for each in nczarr.check(place, data=True)] == [("changed-target", "error")]


def test_the_engine_warns_of_a_changed_target(document: Path) -> None:
    xarray = pytest.importorskip("xarray")
    os.utime(target(document), ns=(0, 1_700_000_000 * 10**9))
    with pytest.warns(UserWarning, match="the target of `v/0.0`, has changed"):
        xarray.open_dataset(document, engine="nczarr").close()


def test_a_chunk_that_is_damaged(document: Path, nczarr_command: Command) -> None:
    key, (_, offset, _) = "v/3.0", references(document)["v/3.0"]
    data = bytearray(target(document).read_bytes())
    data[offset : offset + 4] = b"\0\0\0\0"
    put_back(target(document), bytes(data))
    assert faults(document, chunks="none") == []
    ((code, message),) = faults(document, chunks="all")
    assert code == "unreadable-chunk"
    assert key in message
    assert str(target(document)) in message
    ran = nczarr_command("refs", "verify", str(document), "--chunks", "all", "--message-format", "json")
    assert ran.status == 1
    (found,) = [json.loads(line) for line in ran.err.splitlines()]
    assert found["key"] == key


def test_samples_are_always_the_same(document: Path) -> None:
    data = bytearray(target(document).read_bytes())
    for _, offset, _ in references(document).values():
        data[offset : offset + 4] = b"\0\0\0\0"
    put_back(target(document), bytes(data))
    some = faults(document, sample=3)
    assert len(some) == 3  # of `v`; whatever bytes `w` has are numbers
    assert some == faults(document, sample=3)
    assert set(some) < set(faults(document, chunks="all"))
    assert len(faults(document, chunks="all")) == 8


def test_a_document_that_is_none(tmp_path: Path, nczarr_command: Command) -> None:
    assert [code for code, _ in faults({"version": 2, "refs": {}})] == ["bad-reference-document"]
    assert [code for code, _ in faults({"x/0": "not a dataset"})] == ["unknown-format"]
    assert faults({"x/0": "not a dataset"}, chunks="none") == []
    with pytest.raises(FileNotFoundError):
        refs.verify(tmp_path / "no.json")
    assert nczarr_command("refs", "verify", str(tmp_path / "no.json")).status == 3


def test_relative_targets_lie_beside_the_document_or_where_somebody_says(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(b"1234")
    document = tmp_path / "data" / "t.json"
    document.write_text(json.dumps({"x/0": ["a", 0, 4]}))
    assert faults(document, chunks="none") == []
    assert [code for code, _ in faults({"x/0": ["a", 0, 4]}, chunks="none")] == ["unreachable-target"]
    assert faults({"x/0": ["a", 0, 4]}, chunks="none", following=Following(base=str(tmp_path / "data"))) == []
    assert faults({"x/0": [None, 0, 4]}, chunks="none", following=Following(target=str(tmp_path / "data" / "a"))) == []
    assert [code for code, _ in faults({"x/0": [None, 0, 4]}, chunks="none")] == ["forbidden-target"]
    assert [code for code, _ in faults(document, chunks="none", following=Following(roots=("s3://",)))] == [
        "forbidden-target"
    ]


def test_parquet_references(document: Path, nczarr_command: Command) -> None:
    pytest.importorskip("pyarrow")
    folder = document.with_suffix(".parq")
    nczarr.convert(target(document), folder)
    assert faults(folder, chunks="all") == []
    put_back(target(document), target(document).read_bytes()[:1000])
    assert {code for code, _ in faults(folder)} == {"range-beyond-target", "changed-target"}


def test_words_that_mean_nothing_are_refused(document: Path, nczarr_command: Command) -> None:
    with pytest.raises(ValueError, match="`chunks` must be none, sample or all"):
        refs.verify(document, chunks="few")  # type: ignore[arg-type]
    assert nczarr_command("refs", "verify", str(document), "--sample", "0").status == 2


@pytest.mark.parametrize("key", ["w/100", "w/0.0", "w/00", "u/0", "v/0/0"])
def test_keys_that_nobody_reads(document: Path, key: str) -> None:
    whole = json.loads(document.read_text())
    whole["refs"][key] = whole["refs"]["w/0"]
    found = refs.verify(whole)
    assert [(each.code, each.message) for each in found] == [
        ("stray-reference", f"`{key}` is not a chunk of any array and is never read")
    ]
    assert str(found[0].severity) == "warning"


@pytest.mark.slow
def test_keys_that_no_store_has_are_told_once(document: Path) -> None:
    whole = json.loads(document.read_text())
    whole["refs"]["w/"] = whole["refs"]["w/0"]
    assert [code for code, _ in faults(whole)] == ["unsafe-key"]
