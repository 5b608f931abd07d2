"""Reference documents that are written: what stands in them, what is refused, and that they read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.options import Writing
from nczarr.stores.target_urls import UrlNaming
from tests.conftest import Ran

Command = Callable[..., Ran]

SCHEMA = """netcdf t {
dimensions:
  t = UNLIMITED ; x = 4 ;
variables:
  short time(t) ;
  float v(t, x) ; v:_FillValue = -1.f ;
  int s ;
  char c(x) ;
  string names(x) ;
data:
  time = 1, 2, 3 ;
  v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ;
  s = 7 ;
  c = "abcd" ;
  names = "a", "b", "", "dd" ;
}
"""
CLASSIC = SCHEMA.replace("  string names(x) ;\n", "").replace('  names = "a", "b", "", "dd" ;\n', "")


@pytest.fixture
def classic(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    nczarr.write(nczarr.from_cdl(CLASSIC), path, kind="nc3")
    return path


@pytest.fixture
def enhanced(tmp_path: Path) -> Path:
    path = tmp_path / "b.nc"
    nczarr.write(nczarr.from_cdl(SCHEMA), path, kind="nc4", chunks={"t": 1, "x": 2}, codecs={"/v": "shuffle+zlib:4"})
    return path


def refs(path: Path, **writing: Any) -> dict[str, Any]:
    """The entries of references to a file."""
    target = path.with_suffix(".json")
    nczarr.convert(path, target, writing=Writing(**writing), overwrite=True)
    document = json.loads(target.read_text())
    assert document["version"] == 1
    assert list(document) == [name for name in ("version", "refs", "nczarr") if name in document]
    found: dict[str, Any] = document["refs"]
    return found


def test_every_chunk_of_a_file(classic: Path, nczarr_command: Command) -> None:
    found = refs(classic, inline=0)
    url = f"file://{classic}"
    data = {key: value for key, value in found.items() if not key.rpartition("/")[2].startswith(".")}
    assert list(data) == ["time/0", "time/1", "time/2", "v/0.0", "v/1.0", "v/2.0", "s/0", "c/0"]
    assert {value[0] for value in data.values()} == {url}
    content = classic.read_bytes()
    read = {key: content[offset : offset + length] for key, (_, offset, length) in data.items()}
    assert read["v/1.0"] == np.array([5, 6, 7, 8], ">f4").tobytes()
    assert read["s/0"] == b"\0\0\0\7"
    assert nczarr_command("diff", str(classic), str(classic.with_suffix(".json"))).status == 0


def test_short_chunks_stand_in_the_document(classic: Path) -> None:
    found = refs(classic)
    assert found["c/0"] == "abcd"
    assert found["v/0.0"] == "base64:P4AAAEAAAABAQAAAQIAAAA=="
    assert not any(isinstance(value, list) for value in found.values())


@pytest.mark.parametrize("metadata", ["nczarr", "zarr2", "nczarr3", "zarr3"])
def test_documents_of_every_format(enhanced: Path, metadata: str, nczarr_command: Command) -> None:
    found = refs(enhanced, metadata=metadata, inline=0)
    assert ("zarr.json" in found) is metadata.endswith("3")
    assert ("v/c/0/0" in found) is metadata.endswith("3")
    assert ("_nczarr" in "".join(map(str, found.values()))) is metadata.startswith("nczarr")
    with nczarr.open(enhanced.with_suffix(".json")) as dataset:
        assert dataset["v"][:].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
        assert dataset["names"][:].tolist() == ["a", "b", "", "dd"]
        assert dataset["s"][()] == 7


def test_what_a_target_was_is_noted(enhanced: Path) -> None:
    refs(enhanced, inline=0)
    document = json.loads(enhanced.with_suffix(".json").read_text())
    ((url, note),) = document["nczarr"]["targets"].items()
    assert url == f"file://{enhanced}"
    assert note["size"] == enhanced.stat().st_size
    assert note["mtime"].endswith("Z")


def test_where_targets_lie_for_readers(enhanced: Path, tmp_path: Path) -> None:
    def url(**writing: Any) -> str:
        return str(refs(enhanced, inline=0, **writing)["v/0.0"][0])

    assert url(base="s3://bucket/d/") == "s3://bucket/d/b.nc"
    assert url(relative=True) == "b.nc"
    (tmp_path / "deep").mkdir()
    target = tmp_path / "deep" / "r.json"
    nczarr.convert(enhanced, target, writing=Writing(relative=True, inline=0))
    assert json.loads(target.read_text())["refs"]["v/0.0"][0] == "../b.nc"


def test_names_of_files_are_encoded_below_a_web_server(enhanced: Path) -> None:
    odd = enhanced.rename(enhanced.with_name("a #1?%20.nc"))
    assert refs(odd, inline=0, base="https://h/d")["v/0.0"][0] == "https://h/d/a%20%231%3F%2520.nc"
    assert refs(odd, inline=0, base="s3://b/d")["v/0.0"][0] == "s3://b/d/a #1?%20.nc"


def test_a_base_with_a_secret_is_written_nowhere(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    target = tmp_path / "t.json"
    ran = nczarr_command("convert", str(enhanced), str(target), "--inline", "0", "--base", "https://me:word@h/d")
    assert ran.status == 1
    assert "unnamed-target" in ran.err
    assert "word" not in ran.err
    assert not target.exists()


@pytest.mark.slow
def test_what_lies_above_a_document_is_verified_like_the_rest(
    enhanced: Path, tmp_path: Path, nczarr_command: Command
) -> None:
    (tmp_path / "deep").mkdir()
    for target in ("r.json", "r.parq"):
        path = str(tmp_path / "deep" / target)
        asked = ("--relative", "--inline", "0", "--verify", "--metadata", "zarr2", "--allow-loss", "all")
        assert nczarr_command("convert", str(enhanced), path, *asked).status == 0
        found = nczarr_command("diff", path, path)
        assert (found.status, "--source-root" in found.err) == (1, True)
        assert nczarr_command("diff", path, path, "--source-root", str(tmp_path)).status == 0


def test_a_store_is_referred_to_key_by_key(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    store = tmp_path / "s.zarr"
    nczarr.convert(enhanced, store)
    found = refs(store, inline=0)
    size = (store / "v" / "0.0").stat().st_size
    assert found["v/0.0"] == [f"file://{store}/v/0.0", 0, size]
    assert refs(store, inline=0, base="https://h/d")["v/2.1"][0] == "https://h/d/s.zarr/v/2.1"
    refs(store)
    assert nczarr_command("diff", str(store), str(store.with_suffix(".json"))).status == 0


@pytest.mark.parametrize("archive", ["s.zip", "s.zarr"])
def test_shards_are_referred_to_chunk_by_chunk(
    enhanced: Path, tmp_path: Path, archive: str, nczarr_command: Command
) -> None:
    store = tmp_path / archive
    nczarr.convert(enhanced, store, "nczarr3", shards="auto")
    found = refs(store, inline=0, metadata="nczarr3")
    assert len({value[0] for key, value in found.items() if key.startswith("v/c/")}) == 1
    assert len([key for key in found if key.startswith("v/c/")]) == 6
    assert nczarr_command("diff", str(enhanced), str(store.with_suffix(".json"))).status == 0


def test_references_to_references(enhanced: Path, tmp_path: Path) -> None:
    first = refs(enhanced, inline=0)
    again = tmp_path / "again.json"
    nczarr.convert(enhanced.with_suffix(".json"), again, writing=Writing(inline=0))
    assert json.loads(again.read_text())["refs"] == first


def test_values_of_a_text_stand_in_the_document(tmp_path: Path, nczarr_command: Command) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(SCHEMA)
    done = nczarr_command("compile", str(source), "-o", str(tmp_path / "t.json"))
    assert done.status == 0, done.err
    assert "file://" not in (tmp_path / "t.json").read_text()
    assert nczarr_command("diff", str(source), str(tmp_path / "t.json")).status == 0


def test_what_is_too_large_for_the_document_is_refused_by_name(tmp_path: Path, nczarr_command: Command) -> None:
    source, target = tmp_path / "t.cdl", tmp_path / "t.json"
    source.write_text(SCHEMA)
    done = nczarr_command("compile", str(source), "-o", str(target), "--embed", "20")
    assert done.status == 1
    assert "unreferable-variable" in done.err
    assert "`/v`" in done.err
    assert "`/time`" not in done.err
    assert not target.exists()
    done = nczarr_command(
        "compile", str(source), "-o", str(target), "--embed", "20", "--allow-loss", "unreferable-variable"
    )
    assert done.status == 0
    assert sorted(nczarr.open(target)) == ["/c", "/names", "/s", "/time"]


def test_large_data_in_one_piece_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    nczarr.write(
        nczarr.from_cdl("netcdf t { dimensions: y = 1000; x = 20000; variables: int v(y, x); }"), path, kind="nc5"
    )
    found = refs(path)
    chunks = json.loads(found["v/.zarray"])["chunks"]
    assert chunks == [200, 20000]
    assert [found[f"v/{n}.0"][1:] for n in range(2)] == [
        [found["v/0.0"][1], 16_000_000],
        [found["v/0.0"][1] + 16_000_000, 16_000_000],
    ]
    asked = tmp_path / "asked.json"
    nczarr.convert(path, asked, chunks={"y": 10, "x": 20000})
    assert len([key for key in json.loads(asked.read_text())["refs"] if key.startswith("v/")]) == 102
    with pytest.raises(nczarr.CompileError, match="the requested chunk lengths"):
        nczarr.convert(path, tmp_path / "never.json", chunks={"y": 1000, "x": 10})


def test_records_of_one_variable_lie_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "one.nc"
    text = "netcdf t { dimensions: t = UNLIMITED; x = 3; variables: byte v(t, x); data: v = 1,2,3,4,5,6,7,8,9; }"
    nczarr.write(nczarr.from_cdl(text), path, kind="nc3")
    found = refs(path, inline=0)
    assert json.loads(found["v/.zarray"])["chunks"] == [3, 3]
    assert found["v/0.0"][2] == 9


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 7])
def test_records_of_one_variable_are_cut_as_asked(tmp_path: Path, length: int) -> None:
    values = ", ".join(map(str, range(21)))
    text = f"netcdf t {{ dimensions: t = unlimited ; x = 3 ; variables: int v(t, x) ; data: v = {values} ; }}"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc", kind="nc3")
    nczarr.convert(tmp_path / "t.nc", tmp_path / "t.json", chunks={"t": length}, writing=Writing(inline=0), verify=True)
    found = json.loads((tmp_path / "t.json").read_text())["refs"]
    assert json.loads(found["v/.zarray"])["chunks"] == [length, 3]
    assert [value[2] for key, value in found.items() if key.startswith("v/") and key[2] != "."] == [12 * length] * (
        7 // length
    )


RAGGED = """netcdf t {
types: int(*) list ; compound pair { list one ; float two ; } ; // pair
dimensions: x = 3 ;
variables: list v(x) ; pair w(x) ; int plain(x) ;
data: v = {1, 2}, {3}, {} ; w = {{1}, 2}, {{}, 3}, {{4, 5}, 6} ; plain = 1, 2, 3 ;
}"""


@pytest.mark.long
@pytest.mark.parametrize("metadata", ["nczarr", "zarr2"])
def test_lists_in_a_folder_of_parquet(
    metadata: str, tmp_path: Path, peer: Callable[[str], ModuleType], nczarr_command: Command
) -> None:
    """They lack the document for readers of Awkward arrays, and no value."""
    pytest.importorskip("pyarrow")
    peer("netCDF4")
    nczarr.write(nczarr.from_cdl(RAGGED), tmp_path / "a.nc", kind="nc4")
    more = ["--metadata", metadata, "--allow-loss", "lost-type", "--verify"]
    for name in ("t.parq", "t.json"):
        done = nczarr_command("convert", str(tmp_path / "a.nc"), str(tmp_path / name), *more)
        assert done.status == 0, done.err
    assert ".awkward0" in (tmp_path / "t.json").read_text()
    assert not list(tmp_path.glob("t.parq/**/.awkward0"))
    assert nczarr.diff(tmp_path / "t.parq", tmp_path / "t.json") == []
    if metadata == "nczarr":
        assert nczarr.diff(tmp_path / "t.parq", tmp_path / "a.nc") == []
    else:
        assert nczarr.open(tmp_path / "t.parq")["v/content"][...].tolist() == [1, 2, 3]


@pytest.mark.slow
def test_folders_of_parquet(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    pytest.importorskip("pyarrow")
    target = tmp_path / "t.parq"
    done = nczarr_command("convert", str(enhanced), str(target), "--verify", "--inline", "0")
    assert done.status == 0, done.err
    assert (target / "v" / "refs.0.parq").is_file()
    assert nczarr_command("diff", str(enhanced), str(target)).status == 0
    assert nczarr_command("convert", str(enhanced), str(target)).status == 2
    assert nczarr_command("convert", str(enhanced), str(target), "--overwrite").status == 0
    done = nczarr_command(
        "convert", str(enhanced), str(tmp_path / "u.parq"), "--metadata", "zarr3", "--allow-loss", "all"
    )
    assert done.status == 1
    assert "unstorable-reference" in done.err
    assert not (tmp_path / "u.parq").exists()


@pytest.mark.slow
def test_a_document_takes_its_place_whole(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    target = tmp_path / "t.json"
    target.write_text("mine")
    assert nczarr_command("convert", str(enhanced), str(target)).status == 2
    assert target.read_text() == "mine"
    assert nczarr_command("convert", str(enhanced), str(target), "--overwrite", "--verify").status == 0
    assert [each.name for each in tmp_path.iterdir() if "partial" in each.name] == []


def test_on_standard_output(enhanced: Path, nczarr_command: Command) -> None:
    done = nczarr_command("convert", str(enhanced), "-", "--to", "reference", "--inline", "0")
    assert done.status == 0
    assert json.loads(done.text)["refs"]["v/0.0"][0] == f"file://{enhanced}"


def test_what_is_going_to_be_done(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    done = nczarr_command("convert", str(enhanced), str(tmp_path / "t.json"), "--dry-run")
    assert done.status == 0
    assert "reference" in done.text
    assert not (tmp_path / "t.json").exists()


def test_the_same_source_gives_the_same_bytes(enhanced: Path, tmp_path: Path) -> None:
    texts = set()
    for workers in (1, 4):
        target = tmp_path / f"{workers}.json"
        nczarr.convert(enhanced, target, workers=workers)
        texts.add(target.read_bytes())
    assert len(texts) == 1


def test_a_part_made_of_whole_chunks(enhanced: Path, classic: Path, tmp_path: Path, nczarr_command: Command) -> None:
    for source, keys in ((enhanced, ["v/0.0", "v/1.0"]), (classic, ["v/0.0", "v/1.0"])):
        section = "v(1:2, 2:3)" if source == enhanced else "v(1:2, :)"
        arguments = ("--section", section, "--var", "v")
        target = tmp_path / f"{source.stem}.part.json"
        assert nczarr_command("convert", str(source), str(target), "--inline", "0", *arguments).status == 0
        found = json.loads(target.read_text())["refs"]
        assert [key for key in found if key.startswith("v/") and not key.startswith("v/.")] == keys
        assert all(isinstance(found[key], list) for key in keys)
        assert nczarr_command("convert", str(source), str(tmp_path / f"{source.stem}.part.nc"), *arguments).status == 0
        assert nczarr_command("diff", str(target), str(tmp_path / f"{source.stem}.part.nc")).status == 0


def test_an_enum_that_was_never_written_has_the_fill_value_of_its_file(tmp_path: Path) -> None:
    text = "netcdf t { types: byte enum e {one = 1} ; dimensions: x = 2 ; variables: e v(x) ; v:_ChunkSizes = 2 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc")
    nczarr.convert(tmp_path / "t.nc", tmp_path / "t.json")
    assert nczarr.diff(tmp_path / "t.nc", tmp_path / "t.json") == []


def test_texts_beyond_the_grammar(enhanced: Path, tmp_path: Path, nczarr_command: Command) -> None:
    pytest.importorskip("jinja2")
    found = refs(enhanced, inline=0)
    document = {"version": 1, "templates": {"u": str(enhanced)}, "refs": found}
    document["refs"]["v/0.0"][0] = "{{ u[:] }}"
    (tmp_path / "j.json").write_text(json.dumps(document))
    assert "bad-expression" in nczarr_command("diff", str(tmp_path / "j.json"), str(enhanced)).err
    assert nczarr_command("diff", str(tmp_path / "j.json"), str(enhanced), "--source-jinja").status == 0


def test_names_as_seen_from_a_document_in_a_bucket() -> None:
    naming = UrlNaming("s3://b/sets/all.json", None, Writing(relative=True))
    assert naming.url("s3://b/sets/a.nc") == "a.nc"
    assert naming.url("s3://b/data/a.nc") == "../data/a.nc"
    assert naming.url("s3://c/sets/a.nc") == "s3://c/sets/a.nc"
    assert naming.url("https://b/sets/a.nc") == "https://b/sets/a.nc"
    assert naming.url("/data/a.nc") == "file:///data/a.nc"


def test_what_is_noted_of_targets_outlives_compacting(enhanced: Path, nczarr_command: Command) -> None:
    refs(enhanced, inline=0)
    document = enhanced.with_suffix(".json")
    small = document.with_name("small.json")
    assert nczarr_command("refs", "compact", str(document), "-o", str(small)).status == 0
    assert json.loads(small.read_text())["nczarr"] == json.loads(document.read_text())["nczarr"]
    assert nczarr_command("refs", "verify", str(small)).status == 0
