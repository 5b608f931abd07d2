"""Migration in place: documents of another format for the chunks that are there, or nothing at all."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plugins.common.store_changes import ExtensibleFolder
from nczarr.plugins.edit import document_change
from nczarr.plugins.edit.migrate_store import MigrateRequest, Migration, migrate
from nczarr.plugins.edit.patches import file_patch
from tests.conftest import ROOT, run_command
from tests.support import stepped
from tests.support.work import counted

ARRAY = {
    "zarr_format": 2,
    "shape": [2, 3],
    "chunks": [2, 2],
    "dtype": "<i4",
    "fill_value": None,
    "order": "C",
    "compressor": None,
    "filters": None,
}


def store(folder: Path, attributes: dict[str, Any] | None = None, **members: Any) -> Path:
    """A store of Zarr v2 with one array `v` and one chunk."""
    path = folder / "a.zarr"
    (path / "v").mkdir(parents=True)
    document = {**ARRAY, **members}
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / ".zattrs").write_text(
        '{"title": {"deep": [1, {"b": null}]}, "big": 12345678901234567890123, "nan": NaN, "e": 1.50e0}'
    )
    (path / "v/.zarray").write_text(json.dumps(document))
    names = ["y", "x"][: len(document["shape"])]
    (path / "v/.zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": names, **(attributes or {})}))
    (path / "v/0.0").write_bytes(bytes(range(16)))
    return path


def files(path: Path) -> dict[str, tuple[bytes, int, int]]:
    """Content, number and time of each file."""
    found = (each for each in path.rglob("*") if each.is_file())
    return {
        each.relative_to(path).as_posix(): (each.read_bytes(), each.stat().st_ino, each.stat().st_mtime_ns)
        for each in found
    }


def contents(path: Path) -> dict[str, bytes]:
    return {name: facts[0] for name, facts in files(path).items()}


def moved(path: Path, form: str = "zarr3", **request: Any) -> tuple[Migration | None, list[str]]:
    """The migration of a store, and the codes and messages of its errors."""
    report = Report()
    found = migrate(MigrateRequest(str(path), form, **request), report)
    return found, [f"{each.code}: {each.message}" for each in report.list_sorted() if str(each.severity) == "error"]


def document(path: Path, key: str = "v/zarr.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / key).read_text())
    return found


def test_documents_change_and_chunks_stay(tmp_path: Path) -> None:
    path = store(tmp_path, {"units": "K"})
    before = files(path)
    found, errors = moved(path)
    assert (errors, found is not None) == ([], True)
    after = files(path)
    assert set(after) == {"zarr.json", "v/zarr.json", "v/0.0"}
    assert after["v/0.0"] == before["v/0.0"]
    assert document(path) == {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2, 3],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "K"},
        "dimension_names": ["y", "x"],
    }
    root = (path / "zarr.json").read_text()
    assert '{"title": {"deep": [1, {"b": null}]}, "big": 12345678901234567890123, "nan": NaN, "e": 1.50e0}' in root


CODECS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"dtype": ">i4"}, [{"name": "bytes", "configuration": {"endian": "big"}}]),
    (
        {"order": "F"},
        [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "little"}},
        ],
    ),
    (
        {
            "order": "F",
            "dtype": ">f8",
            "filters": [{"id": "delta", "dtype": ">f8", "astype": ">f4"}, {"id": "shuffle", "elementsize": 4}],
            "compressor": {"id": "zstd", "level": 3},
        },
        [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "numcodecs.delta", "configuration": {"dtype": ">f8", "astype": ">f4"}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}},
            {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
        ],
    ),
    (
        {"compressor": {"id": "blosc", "cname": "lz4", "shuffle": -1}},
        [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {
                "name": "blosc",
                "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0, "typesize": 4},
            },
        ],
    ),
    (
        {"dtype": "|i1", "compressor": {"id": "gzip"}},
        [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}],
    ),
    (
        {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "zlib", "level": 1}},
        [{"name": "vlen-utf8"}, {"name": "numcodecs.zlib", "configuration": {"level": 1}}],
    ),
    (
        {"dtype": "|b1", "filters": [{"id": "packbits"}]},
        [{"name": "numcodecs.packbits", "configuration": {}}, {"name": "bytes"}],
    ),
    ({"dtype": [["a", "<i4"], ["b", "|S4"]]}, [{"name": "bytes", "configuration": {"endian": "little"}}]),
]


@pytest.mark.parametrize(("members", "codecs"), CODECS, ids=[str(number) for number in range(len(CODECS))])
def test_codecs(tmp_path: Path, members: dict[str, Any], codecs: list[Any]) -> None:
    path = store(tmp_path, **members)
    _, errors = moved(path)
    assert errors == []
    assert document(path)["codecs"] == codecs


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"dtype": "|O", "filters": [{"id": "json2"}]}, "codec `json2` has no name"),
        ({"filters": [{"id": "base64"}]}, "codec `base64` has no name"),
        ({"filters": [{"id": "shuffle", "elementsize": 4}, {"id": "delta", "dtype": "<i4"}]}, "behind a filter"),
        ({"filters": [{"id": "delta", "dtype": "<f4"}]}, "elements `<f4` of an array of `<i4`"),
        ({"dtype": [["a", "<i4"], ["b", ">f8"]]}, "field `b` is big-endian"),
        ({"dtype": [["a", "<i4", [2]]]}, "field `a`, which is an array"),
        ({"compressor": {"id": "imagecodecs_jpeg"}}, "codec `imagecodecs_jpeg` has no name"),
    ],
)
def test_what_v3_cannot_state_is_refused_and_nothing_written(
    tmp_path: Path, members: dict[str, Any], text: str
) -> None:
    path = store(tmp_path, **members)
    before = files(tmp_path)
    found, errors = moved(path)
    assert found is None
    assert errors[0].startswith("unmigratable-store: ")
    assert text in errors[0]
    assert files(tmp_path) == before


def test_separators_and_consolidated_metadata(tmp_path: Path) -> None:
    path = store(tmp_path, dimension_separator="/")
    (path / "v/0.0").unlink()
    (path / "v/0").mkdir()
    (path / "v/0/0").write_bytes(bytes(16))
    (path / ".zmetadata").write_text('{"metadata": {}, "zarr_consolidated_format": 1}')
    before = nczarr.digest(path)
    assert moved(path)[1] == []
    assert document(path)["chunk_key_encoding"]["configuration"] == {"separator": "/"}
    root = document(path, "zarr.json")
    assert root["consolidated_metadata"]["metadata"] == {"v": document(path)}
    assert not (path / ".zmetadata").exists()
    assert nczarr.digest(path) == before


@pytest.mark.parametrize(
    ("attributes", "members", "stated"),
    [
        ({"_FillValue": -1}, {"fill_value": -1}, -1),
        ({"_FillValue": 0.5}, {"fill_value": 0.5, "dtype": "<f4"}, "AAAAAAAA4D8="),
        ({}, {"fill_value": "NaN", "dtype": "<f4"}, "AAAAAAAA+H8="),
        ({"_FillValue": "x"}, {"fill_value": "eA==", "dtype": "|S4"}, None),
    ],
)
def test_fill_values_are_those_that_xarray_reads(
    tmp_path: Path, attributes: dict[str, Any], members: dict[str, Any], stated: Any
) -> None:
    path = store(tmp_path, attributes, **members)
    before = nczarr.digest(path)
    assert moved(path)[1] == []
    assert document(path)["attributes"].get("_FillValue") == stated
    assert nczarr.digest(path) == before


def test_fill_values_that_xarray_masks(tmp_path: Path) -> None:
    """A fill value that the array states becomes the attribute, netCDF's default with the option alone."""
    for fill, codes in ((-1, []), (-2147483647, ["unmasked-fill"])):
        path = store(tmp_path / str(fill), fill_value=fill)
        report = Report()
        migrate(MigrateRequest(str(path), "zarr3", rehearsal=True), report)
        assert [each.code for each in report.list_sorted()] == codes
        found, _ = moved(path, options=Options.of(masking_fill=bool(codes)))
        assert found is not None
        assert document(path)["attributes"] == {"_FillValue": fill}


@pytest.mark.parametrize("form", ["zarr3", "nczarr3", "nczarr"])
def test_undo_restores_every_byte(tmp_path: Path, form: str) -> None:
    path = store(tmp_path)
    (path / ".zattrs").write_text('{ "a" :\t1.50, "\\u00e9": "\\ud83d\\ude00" }\n')
    before = contents(path)
    found, errors = moved(path, form)
    assert errors == []
    assert found is not None
    assert found.change.undo == f"{path}.undo-1.json"
    assert contents(path) != before
    report = Report()
    assert document_change.take_back(str(path), found.change.undo, report, Options()) is not None
    assert contents(path) == before


def test_undo_refuses_a_store_that_has_changed(tmp_path: Path) -> None:
    path = store(tmp_path)
    found, _ = moved(path)
    assert found is not None
    (path / "zarr.json").write_text((path / "zarr.json").read_text() + " ")
    before = files(path)
    ran = run_command("migrate", str(path), "--undo", str(found.change.undo))
    assert (ran.status, "unmatched-undo" in ran.err, "`zarr.json` has changed" in ran.err) == (2, True, True)
    assert files(path) == before


def test_old_documents_may_stay(tmp_path: Path) -> None:
    path = store(tmp_path)
    before = contents(path)
    found, _ = moved(path, keeps=True)
    assert found is not None
    assert contents(path).items() > before.items()
    assert nczarr.open(path)["v"].shape == (2, 3)
    again, _ = moved(path)
    assert again is not None
    assert again.change.count_actions() == {"added": 0, "replaced": 0, "removed": 4}
    assert set(contents(path)) == {"zarr.json", "v/zarr.json", "v/0.0"}


@pytest.mark.parametrize(("old", "new"), [("zarr2", "zarr3"), ("nczarr", "nczarr3")])
def test_edits_reach_the_documents_that_stayed(tmp_path: Path, old: str, new: str) -> None:
    text = """netcdf k { dimensions: x = 2 ; variables: float v(x) ; v:units = "K" ; v:_FillValue = 1.f ; int w ;
        data: v = 5, 6 ; }"""
    path = tmp_path / "k.zarr"
    nczarr.write(nczarr.from_cdl(text), path, old)
    nczarr.migrate(path, new, keep=True)
    before = contents(path)
    values = {"/v@units": "degC", "/v@_FillValue": np.float32(2), "@new": 5}
    changed = nczarr.edit(path, attributes=values, delete=["/w"])
    kept = contents(path)
    for ending in ("", "zarr.json"):  # first those of v3 are read, then those of v2 alone
        for key in kept if ending else ():
            if key.endswith(ending):
                (path / key).unlink()
        found = nczarr.open(path)
        attributes = found["v"].attributes
        assert (attributes["units"], attributes["_FillValue"], found.attributes["new"]) == ("degC", 2, 5), ending
        assert list(found) == ["/v"], ending
    for key, data in kept.items():
        (path / key).write_bytes(data)
    nczarr.edit(path, undo=changed.undo_file)
    assert contents(path) == before


def test_documents_that_belong_to_no_node(tmp_path: Path) -> None:
    path = store(tmp_path)
    (path / "g/w").mkdir(parents=True)
    shutil.copy(path / "v/.zarray", path / "g/.zattrs")
    _, errors = moved(path)
    assert ["`g` has documents, but is neither an array nor a group" in each for each in errors] == [True]


@pytest.mark.parametrize("name", ["a.nc", "a.json"])
def test_targets_that_are_no_folders_of_keys(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    form = {"a.json": "reference"}.get(name)
    nczarr.write(nczarr.from_cdl(text), name, form, **({} if form else {"kind": "nc3"}))
    before = Path(name).read_bytes()
    found, errors = moved(Path(name))
    assert found is None
    assert errors[0].startswith("unchangeable-store: ")
    assert Path(name).read_bytes() == before


def test_an_archive_gets_new_bytes_at_its_end(tmp_path: Path) -> None:
    """Chunks stay where they are in the file; the undo file restores every byte."""
    path = tmp_path / "a.zip"
    text = "netcdf t { dimensions: x = 2 ; variables: int v(x) ; :title = 'a' ; data: v = 1, 2 ; }"
    nczarr.write(nczarr.from_cdl(text), path, "zarr2")
    before, digest = path.read_bytes(), nczarr.digest(path)
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("v/0").header_offset
    found, errors = moved(path)
    assert (errors, found is not None) == ([], True)
    assert nczarr.digest(path) == digest
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["v/0", "v/zarr.json", "zarr.json"]
        assert archive.getinfo("v/0").header_offset == place
    ran = run_command("migrate", str(path), "--undo", f"{path}.undo-1.json")
    assert ran.status == 0, ran.err
    assert path.read_bytes() == before


def test_a_group_of_a_larger_store(tmp_path: Path) -> None:
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    path = store(tmp_path)
    found, errors = moved(path)
    assert found is None
    assert "is a group of the store" in errors[0]
    nczarr.edit(path, attributes={"/v@units": "K"})
    (tmp_path / ".zmetadata").write_text('{"metadata": {}, "zarr_consolidated_format": 1}')
    with pytest.raises(nczarr.CompileError, match="would be stale"):
        nczarr.edit(path, attributes={"/v@units": "m"})


OLD_DIALECT = {
    ".nczarr": {"zarr_format": 2, "nczarr_version": "1.0.0"},
    ".zgroup": {"zarr_format": 2},
    ".nczgroup": {"dims": {"y": 2, "x": 3}, "vars": ["v"], "groups": []},
    ".nczattr": {"types": {"n": "<i2"}},
    ".zattrs": {"n": 7},
    "v/.zarray": ARRAY,
    "v/.nczvar": {"dimrefs": ["/y", "/x"], "storage": "chunked"},
    "v/.zattrs": {"_FillValue": -5},
    "v/.nczattr": {"types": {"_FillValue": "<i4"}},
}


def test_old_dialects_of_the_netcdf_library_are_repaired(tmp_path: Path) -> None:
    path = tmp_path / "old.zarr"
    (path / "v").mkdir(parents=True)
    for key, content in OLD_DIALECT.items():
        (path / key).write_text(json.dumps(content))
    (path / "v/0.0").write_bytes(bytes(range(16)))
    before = nczarr.digest(path)
    found, errors = moved(path, "nczarr")
    assert errors == []
    assert found is not None
    assert set(contents(path)) == {".zgroup", ".zattrs", "v/.zarray", "v/.zattrs", "v/0.0"}
    assert document(path, "v/.zarray") == ARRAY
    assert document(path, ".zattrs")["_nczarr_attr"] == {"types": {"n": "<i2"}}
    assert document(path, "v/.zattrs")["_nczarr_array"]["dimension_references"] == ["/y", "/x"]
    assert nczarr.digest(path) == before


class Crash(BaseException):
    """End of a process, as far as the store can tell."""


def crash_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """Make the n-th write of a store fail before it happens; return how many writes there were."""
    done = 0

    def count(name: str) -> None:
        original = getattr(ExtensibleFolder, name)

        def counted_call(self: ExtensibleFolder, *given: Any) -> Any:
            nonlocal done
            keys = list(given[0]) if name == "remove" else [given[0]]
            for key in keys:
                done += 1
                if done == number:
                    raise Crash
                result = original(self, [key] if name == "remove" else key, *given[1:])
            return result if keys else None

        monkeypatch.setattr(ExtensibleFolder, name, counted_call)

    for name in ("claim", "put", "remove"):
        count(name)
    return lambda: done


@pytest.mark.long
def test_a_crash_at_any_write(tmp_path: Path) -> None:
    """The store reads as before or as after; the same command, or the next one, completes it."""
    path = store(tmp_path / "whole")
    old, digest = contents(path), nczarr.digest(path)
    with pytest.MonkeyPatch.context() as patch:
        writes = crash_at(patch, 0)
        moved(path)
        number = writes()
    new = contents(path)
    assert number == 1 + 2 + 4 + 1  # the journal, new documents, old ones, the journal
    for at in range(1, number + 1):
        place = store(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            crash_at(patch, at)
            with pytest.raises(Crash):
                moved(place)
        assert nczarr.digest(place) == digest
        if at == 1:
            assert contents(place) == old
            continue
        undo = f"{place}.undo-1.json"
        if at % 2:
            found, errors = moved(place)
            assert (errors, found is not None and found.source) == ([], "zarr3")
            assert contents(place) == new
        assert document_change.take_back(str(place), undo, Report(), Options()) is not None
        assert contents(place) == old


def test_a_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path)
    before = files(tmp_path)

    def claim(self: ExtensibleFolder, journal: bytes) -> bool:
        raise PermissionError(13, "Permission denied", self.path)

    monkeypatch.setattr(ExtensibleFolder, "claim", claim)
    assert run_command("migrate", str(path), "--to", "zarr3").status == 3
    assert files(tmp_path) == before


def test_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    url = "memory://migrate/a.zarr"
    nczarr.write(
        nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"), url, "zarr2"
    )
    before = nczarr.digest(url)
    done = nczarr.migrate(url, "zarr3")
    assert nczarr.digest(url) == before
    nczarr.edit(url, attributes={"/v@units": "K"}, undo_file="u.json")
    assert nczarr.open(url)["v"].attributes["units"] == "K"
    nczarr.edit(url, undo="u.json")
    nczarr.migrate(url, undo=done.undo)
    assert nczarr.digest(url) == before


def test_a_crash_within_an_archive(tmp_path: Path) -> None:
    """Readers refuse an archive with half of its new end; the next migration restores it first."""
    path = tmp_path / "a.zip"
    nczarr.write(
        nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"), path, "zarr2"
    )
    before, digest = path.read_bytes(), nczarr.digest(path)
    write = file_patch.write_at

    def crash(number: int, data: bytes, offset: int) -> None:
        write(number, data[: len(data) // 2], offset)
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_patch, "write_at", crash)
        with pytest.raises(Crash):
            moved(path)
    assert path.read_bytes() != before
    assert "unfinished-edit" in run_command("dump", "-h", str(path)).err
    assert moved(path)[1] == []
    assert nczarr.digest(path) == digest
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".nczarr-edit")] == []


@pytest.mark.slow
def test_a_kill_at_any_step(tmp_path: Path) -> None:
    path = store(tmp_path / "whole")
    digest = nczarr.digest(path)
    steps = stepped.run(str(tmp_path / "whole"), ["migrate", "a.zarr", "--to", "zarr3", "-q"]).steps
    new = contents(path)
    assert steps > 10
    for at in range(1, steps + 1):
        place = store(tmp_path / str(at))
        stepped.run(str(place.parent), ["migrate", "a.zarr", "--to", "zarr3", "-q"], how="kill", at=at)
        assert nczarr.digest(place) == digest
        assert moved(place)[1] == []
        left = {name: data for name, data in contents(place).items() if ".nczarr-growing-" not in name}
        assert left == new


def test_cost_is_linear(tmp_path: Path) -> None:
    """Four times as many arrays cost at most five times the calls."""
    calls = []
    for number in (50, 200):
        path = tmp_path / f"{number}.zarr"
        path.mkdir()
        (path / ".zgroup").write_text('{"zarr_format": 2}')
        for index in range(number):
            (path / f"v{index}").mkdir()
            (path / f"v{index}/.zarray").write_text(json.dumps({**ARRAY, "shape": [index + 1, 3]}))
            (path / f"v{index}/.zattrs").write_text(f'{{"_ARRAY_DIMENSIONS": ["y{index}", "x"]}}')
        (path / ".zmetadata").write_text('{"metadata": {}, "zarr_consolidated_format": 1}')
        with counted(10**9) as work:
            assert moved(path)[1] == []
        calls.append(work.calls)
    assert calls[1] < 5 * calls[0]


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    ran = run_command("migrate", "a.zarr", "--to", "zarr3", "--dry-run")
    assert ran.status == 0
    assert ran.out.startswith(b"--- /dev/null\n+++ v/zarr.json\n@@ ")
    assert ran.out.endswith(b"--- v/.zattrs\n+++ /dev/null\n")
    assert "6 documents (2 added, 4 removed); nothing was written" in ran.err
    assert files(tmp_path) == before
    for wrong in (["--to", "zarr3", "--undo", "x"], [], ["--undo", "x", "--keep"]):
        assert run_command("migrate", "a.zarr", *wrong).status == 2
    assert run_command("migrate", "a.zarr", "--to", "cdl").status == 2
    done = run_command("migrate", "a.zarr", "--to", "zarr3", "--undo-file", "u.json", "--message-format", "json")
    assert json.loads(done.err.splitlines()[-1]) == {
        "result": "migrate",
        "target": "a.zarr",
        "source_format": "zarr2",
        "format": "zarr3",
        "documents": {"added": 2, "replaced": 0, "removed": 4},
        "undo": "u.json",
    }
    again = run_command("migrate", "a.zarr", "--to", "zarr3", "--undo-file", "u.json")
    assert "nothing to change" in again.err


def test_consolidated_attributes_stay_where_nothing_changes(tmp_path: Path) -> None:
    text = 'netcdf t { dimensions: x = 2 ; variables: int v(x) ; v:units = "K" ; :title = "t" ; }'
    nczarr.write(nczarr.from_cdl(text), tmp_path / "a.zarr", "zarr2", consolidated=True, allow_loss=["all"])
    before = (tmp_path / "a.zarr" / ".zmetadata").read_bytes()
    assert run_command("migrate", str(tmp_path / "a.zarr"), "--to", "zarr2").status == 0
    assert (tmp_path / "a.zarr" / ".zmetadata").read_bytes() == before
    assert run_command("migrate", str(tmp_path / "a.zarr"), "--to", "zarr2", "--no-consolidated").status == 0
    assert not (tmp_path / "a.zarr" / ".zmetadata").exists()


@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_attributes_keep_their_json(form: str, tmp_path: Path) -> None:
    attributes = {"null": None, "mixed": [1, "a"], "object": {"a": [1]}, "text": "x"}
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "a.zarr" / ".zattrs").write_text(json.dumps(attributes))
    assert run_command("migrate", str(tmp_path / "a.zarr"), "--to", form).status == 0
    written = json.loads((tmp_path / "a.zarr" / (".zattrs" if form == "nczarr" else "zarr.json")).read_text())
    written = written.get("attributes", written)
    assert {name: written[name] for name in attributes} == attributes


@pytest.mark.parametrize("form", ["nczarr", "zarr2", "zarr3", "nczarr3"])
@pytest.mark.parametrize("name", ["01-station", "03-compound-vlen"])
def test_a_store_in_its_own_format_does_not_change(name: str, form: str, tmp_path: Path) -> None:
    """Chunks of numbers without a stated fill value have a fill mode; parts of a scalar are scalars."""
    path = tmp_path / "u.zarr"
    nczarr.convert(ROOT / f"samples/{name}.cdl", path, format=form, allow_loss=["all"])
    before = files(path)
    found, errors = moved(path, form)
    assert (errors, found is not None) == ([], True)
    assert files(path) == before


@pytest.mark.long
def test_commands_of_stepped_processes_print_bytes(tmp_path: Path) -> None:
    path = store(tmp_path)
    assert stepped.run(str(tmp_path), ["info", path.name])[:2] == (0, "")


@pytest.mark.parametrize("sample", ["01-station", "02-grid-groups", "04-cmip", "08-unlimited"])
def test_stores_of_the_netcdf_data_model_become_plain_ones_and_back(sample: str, tmp_path: Path) -> None:
    """Chunks of a variable without `_FillValue` are read alike where none is missing."""
    target = tmp_path / "s.zarr"
    assert run_command("compile", str(ROOT / "samples" / f"{sample}.cdl"), "-o", str(target)).status == 0
    values = {path: values_of(target, path) for path in nczarr.open(target).variables}
    for form in ("zarr2", "nczarr", "zarr2"):
        ran = run_command("migrate", str(target), "--to", form)
        assert ran.status == 0, ran.err
        assert {path: values_of(target, path) for path in values} == values


def values_of(target: Path, path: str) -> Any:
    return nczarr.open(target)[path][...].tolist()
