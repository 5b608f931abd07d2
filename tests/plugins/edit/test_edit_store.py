"""Headers of stores, edited in place: only documents change, and an undo file restores every byte."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.common.store_changes import ExtensibleFolder
from nczarr.plugins.edit.zarr.json_difference import apply_difference
from tests.conftest import run_command
from tests.support.work import counted

FORMS = ("nczarr", "zarr2", "zarr3", "nczarr3")

TEXT = """netcdf t {
dimensions:
  time = %s ;
  x = 3 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  float temp(time, x) ;
    temp:units = "C" ;
    temp:_FillValue = -9.f ;
    temp:note = "first" ;
  int count(x) ;
:title = "t" ;
data:
  time = 0, 1 ;
  temp = 1, 2, 3, 4, 5, 6 ;
  count = 1, 2, 3 ;
group: g {
  variables:
    int v(x) ;
  data:
    v = 7, 8, 9 ;
  }
}
"""


def store(folder: Path, form: str, **options: Any) -> Path:
    path = folder / "a.zarr"
    text = TEXT % ("UNLIMITED" if form.startswith("nczarr") else "2")
    nczarr.write(nczarr.from_cdl(text), path, form, allow_loss=["all"], **options)
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


def rewrite(path: Path, form: str) -> dict[str, Any]:
    """The documents that a consolidation by hand would find, beside the consolidated ones."""
    if (path / ".zmetadata").exists():
        found = json.loads((path / ".zmetadata").read_text())["metadata"]
        every = [key for key in contents(path) if key.rpartition("/")[2] in (".zarray", ".zattrs", ".zgroup")]
        return {"found": found, "every": {key: json.loads((path / key).read_text()) for key in every}}
    root = json.loads((path / "zarr.json").read_text())
    every = [key for key in contents(path) if key.endswith("/zarr.json")]
    return {
        "found": root["consolidated_metadata"]["metadata"],
        "every": {key.removesuffix("/zarr.json"): json.loads((path / key).read_text()) for key in every},
    }


EDITS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "set": ({"attributes": {"/temp@units": "K"}}, ['attribute `units`: "C" | "K"']),
    "add": ({"attributes": {"@history": "now", "/g@a": [1, 2]}}, ["`history`", "`a`"]),
    "delete": ({"delete": ["/temp@note"]}, ["attribute `note` only in the first"]),
    "variable": ({"rename": {"/temp": "sst"}}, ["variable only in the first", "variable only in the second"]),
    "group": ({"rename": {"/g": "h"}}, ["group only in the first", "group only in the second"]),
    "both": ({"rename": {"/g": "h", "/g/v": "w"}}, ["group only in the first", "group only in the second"]),
    "coordinate": ({"rename": {"/time": "t"}}, ["dimension only in the first"]),
    "attribute": ({"rename": {"/temp@note": "remark"}}, ["attribute `note` only in the first"]),
    "fill": ({"attributes": {"/temp@_FillValue": -5.0}}, ["_FillValue"]),
    "removed": ({"delete": ["/count"]}, ["variable only in the first"]),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EDITS)
def test_kinds_of_edit(tmp_path: Path, form: str, name: str) -> None:
    """The edit and nothing else is read; other files are the same; the undo file restores every byte."""
    arguments, wanted = EDITS[name]
    path = store(tmp_path, form)
    nczarr.convert(path, tmp_path / "old.zarr", form)
    before = files(path)
    done = nczarr.edit(path, **arguments)
    found = [f"{each.path}: {each.message}" for each in nczarr.diff(tmp_path / "old.zarr", path)]
    assert all(any(text in line for line in found) for text in wanted), found
    after = files(path)
    documents = ("zarr.json", ".zattrs", ".zarray", ".zgroup", ".zmetadata")
    assert {facts[1:] for key, facts in after.items() if not key.endswith(documents)} == {
        facts[1:] for key, facts in before.items() if not key.endswith(documents)
    }
    changed = {key for key in after if after[key][1] not in {facts[1] for facts in before.values()}}
    assert len(changed) <= 5
    facts = rewrite(path, form)
    assert facts["found"] == facts["every"]
    nczarr.edit(path, undo=done.undo_file)
    assert contents(path) == {key: facts[0] for key, facts in before.items()}


def test_unlimited_dimensions_and_new_variables(tmp_path: Path) -> None:
    path = store(tmp_path, "nczarr")
    header = run_command("dump", "-h", str(path)).out.decode()
    changed = header.replace("time = UNLIMITED ; // (2 currently)", "time = 2 ;\n\ty = 4 ;")
    changed = changed.replace("\tint count(x) ;", '\tint count(x) ;\n\tshort new(y, x) ;\n\t\tnew:units = "1" ;')
    before = contents(path)
    done = nczarr.edit(path, changed)
    with nczarr.open(path) as dataset:
        assert not dataset.dimensions["time"].unlimited
        assert dataset["new"][:].tolist() == [[-32767] * 3] * 4
    assert {"new/.zarray", "new/.zattrs"} == set(contents(path)) - set(before)
    nczarr.edit(path, undo=done.undo_file)
    assert contents(path) == before


@pytest.mark.parametrize("form", ["nczarr", "zarr3"])
def test_a_new_fill_value_is_also_that_of_the_array(tmp_path: Path, form: str) -> None:
    path = store(tmp_path, form)
    nczarr.edit(path, attributes={"/temp@_FillValue": -5.0})
    document = json.loads((path / ("temp/.zarray" if form == "nczarr" else "temp/zarr.json")).read_text())
    assert document["fill_value"] == -5.0


def test_the_draft_of_2019(tmp_path: Path) -> None:
    path = store(tmp_path, "zarr3-2019")
    before = contents(path)
    done = nczarr.edit(path, attributes={"/temp@units": "K", "@a": [1, 2]}, delete=["/count"])
    found = [f"{each.path}: {each.message}" for each in nczarr.diff(nczarr.from_cdl(TEXT % 2), path)]
    assert len(found) == 3
    assert done.lines[-1] == "  chunks below data/count/ stay"
    refused(path, "uneditable-target", "at several places", rename={"/temp": "sst"})
    added = run_command("dump", "-h", str(path)).out.decode().replace("\tfloat temp", "\tint count(x) ;\n\tfloat temp")
    refused(path, "uneditable-target", "is the name of a folder with other keys", added)
    nczarr.edit(path, undo=done.undo_file)
    assert contents(path) == before


def refused(path: Path, code: str, text: str, *arguments: Any, **changes: Any) -> None:
    before = files(path.parent)
    with pytest.raises(CompileError) as caught:
        nczarr.edit(path, *arguments, **changes)
    assert caught.value.diagnostics[0].code == code
    assert text in caught.value.diagnostics[0].message
    assert {key: facts[0] for key, facts in files(path.parent).items()} == {
        key: facts[0] for key, facts in before.items()
    }


def test_what_is_refused(tmp_path: Path) -> None:
    path = store(tmp_path, "zarr2")
    (path / "temp/0.0").unlink()
    refused(path, "data-edit", "missing chunks would read as another value", attributes={"/temp@_FillValue": -5.0})
    (path / "other").mkdir()
    (path / "other/0").write_bytes(b"")
    refused(path, "uneditable-target", "is the name of a folder with other keys", rename={"/count": "other"})
    header = run_command("dump", "-h", str(path)).out.decode()
    refused(path, "uneditable-target", "unlimited", header.replace("time = 2 ;", "time = UNLIMITED ;"))


def test_references_in_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parq"
    nczarr.write(nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"), path)
    before = files(path)
    with pytest.raises(CompileError) as caught:
        nczarr.edit(path, attributes={"@a": 1})
    assert caught.value.diagnostics[0].code == "uneditable-target"
    assert files(path) == before


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_archives(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.zip"
    nczarr.write(nczarr.from_cdl(TEXT % 2), path, form, allow_loss=["all"])
    before = path.read_bytes()
    with pytest.raises(CompileError, match="the archive does not move"):
        nczarr.edit(path, rename={"/temp": "sst"})
    assert path.read_bytes() == before
    done = nczarr.edit(path, attributes={"/temp@units": "K"}, delete=["/count"])
    with nczarr.open(path) as dataset:
        assert dataset["temp"].attributes["units"] == "K"
        assert dataset["temp"][:].tolist() == [[1, 2, 3], [4, 5, 6]]
        assert "count" not in dataset.variables
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert len(set(archive.namelist())) == len(archive.namelist())
    nczarr.edit(path, undo=done.undo_file)
    assert path.read_bytes() == before


def test_members_of_other_programs_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    (path / "v").mkdir(parents=True)
    (path / ".zgroup").write_text('{ "zarr_format" : 2 }')
    (path / ".zattrs").write_text('{"a": {"deep": [1]}, "b": "x", "c": null}')
    array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C"}
    (path / "v/.zarray").write_text(json.dumps({**array, "compressor": None, "filters": None, "made": "by hand"}))
    (path / "v/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"], "n": 1e3, "units": "m"}')
    (path / "v/0").write_bytes(bytes(8))
    before = files(path)
    nczarr.edit(path, attributes={"@b": "y", "/v@units": "km"})
    after = files(path)
    assert json.loads(after[".zattrs"][0]) == {"a": {"deep": [1]}, "b": "y", "c": None}
    assert list(json.loads(after["v/.zattrs"][0]).items())[1:] == [("n", 1000.0), ("units", "km")]
    assert {key for key in after if after[key] != before[key]} == {".zattrs", "v/.zattrs"}


def test_ragged_variables(tmp_path: Path) -> None:
    """Their attributes are edited; a new name would make documents stale that name their keys."""
    text = (
        "netcdf t { types: int(*) row ; dimensions: x = 2 ; variables: row v(x) ; int w(x) ; data: v = {1}, {2, 3} ; }"
    )
    path = tmp_path / "a.zarr"
    nczarr.write(nczarr.from_cdl(text), path, "nczarr")
    before = contents(path)
    assert "v/.awkward0/schema.json" in before
    refused(path, "uneditable-target", "Awkward arrays name the keys of `/v`", rename={"/v": "u"})
    done = nczarr.edit(path, attributes={"/v@units": "K"}, rename={"/w": "u"})
    assert nczarr.open(path)["v"].attributes["units"] == "K"
    nczarr.edit(path, undo=done.undo_file)
    assert contents(path) == before


def test_arrays_without_names_of_dimensions(tmp_path: Path) -> None:
    """The back end would name them; an edit does not."""
    path = tmp_path / "a.zarr"
    (path / "v").mkdir(parents=True)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C"}
    (path / "v/.zarray").write_text(json.dumps({**array, "compressor": None, "filters": None}))
    before = contents(path)
    first = nczarr.edit(path, attributes={"/v@units": "km"})
    second = nczarr.edit(path, rename={"/v": "w"})
    assert json.loads((path / "w/.zattrs").read_text()) == {"units": "km"}
    nczarr.edit(path, undo=second.undo_file)
    nczarr.edit(path, undo=first.undo_file)
    assert contents(path) == before


class Crash(BaseException):
    """End of a process, as far as the store can tell."""


@contextmanager
def crash_at(number: int) -> Iterator[list[int]]:
    """Fail before the n-th change of a folder."""
    done = [0]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("claim", "put", "remove", "move_folder"):
            original = getattr(ExtensibleFolder, name)

            def call(self: Any, *given: Any, original: Any = original, **named: Any) -> Any:
                done[0] += 1
                if done[0] == number:
                    raise Crash
                return original(self, *given, **named)

            patch.setattr(ExtensibleFolder, name, call)
        yield done


@pytest.mark.long
@pytest.mark.parametrize("form", ["nczarr", "zarr3"])
def test_a_crash_at_any_write(tmp_path: Path, form: str) -> None:
    """The store reads as before or as after at any moment; the next edit completes it."""
    changes: dict[str, Any] = {"rename": {"/g": "h", "/g/v": "w", "/temp": "sst"}, "attributes": {"@title": "new"}}
    whole = store(tmp_path / "whole", form) if (tmp_path / "whole").mkdir() is None else tmp_path
    old = nczarr.digest(whole)
    with crash_at(0) as done:
        nczarr.edit(whole, **changes)
    new, expected = nczarr.digest(whole), contents(whole)
    assert done[0] >= 7
    for at in range(1, done[0] + 1):
        (tmp_path / str(at)).mkdir()
        place = store(tmp_path / str(at), form)
        with crash_at(at), pytest.raises(Crash):
            nczarr.edit(place, **changes)
        found = nczarr.digest(place)
        assert found in (old, new)
        assert (found == old) is (at == 1)
        nczarr.edit(place)
        assert nczarr.digest(place) == found
        assert contents(place) == (expected if at > 1 else contents(store_again(tmp_path, form)))


def store_again(folder: Path, form: str) -> Path:
    """The store before the edit."""
    place = folder / "again"
    place.mkdir(exist_ok=True)
    return place / "a.zarr" if (place / "a.zarr").exists() else store(place, form)


def test_cost_is_linear(tmp_path: Path) -> None:
    """Four times as many variables cost at most five times the calls, and few documents are written."""
    calls = []
    for number in (50, 200):
        lines = "".join(f"int v{index}(x) ;\n" for index in range(number))
        path = tmp_path / f"{number}.zarr"
        nczarr.write(nczarr.from_cdl(f"netcdf t {{ dimensions: x = 2 ; variables: {lines} }}"), path, "nczarr")
        before = contents(path)
        with counted(10**9) as work:
            nczarr.edit(path, attributes={"/v7@units": "K"})
        calls.append(work.calls)
        after = contents(path)
        assert {key for key in after if after[key] != before[key]} == {".zmetadata", "v7/.zattrs"}
    assert calls[1] < 5 * calls[0]


@pytest.mark.parametrize(
    ("document", "before", "after", "wanted"),
    [
        ({"z": 0, "a": 1, "b": {"y": 5, "x": 1}}, {"a": 1, "b": {"x": 1}}, {"b": {"x": 2}, "c": 3}, None),
        ({"a": 1.0, "z": 2}, {"a": 1}, {"a": 1}, {"a": 1.0, "z": 2}),
        ({"a": 1, "z": 0, "b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"b": 2, "a": 1, "z": 0}),
        ({"z": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3, "z": 1}),
        ({"a": [1, 2]}, {"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"_nczarr": '{"q": 1, "attr": {}}'}, {"_nczarr": '{"attr": {}}'}, {"_nczarr": '{"attr": {"t": 1}}'}, "text"),
    ],
)
def test_differences_of_documents(document: Any, before: Any, after: Any, wanted: Any) -> None:
    wanted = {"z": 0, "b": {"y": 5, "x": 2}, "c": 3} if wanted is None else wanted
    wanted = {"_nczarr": '{"q": 1, "attr": {"t": 1}}'} if wanted == "text" else wanted
    assert list(apply_difference(document, before, after).items()) == list(wanted.items())


class _Name(str):
    """A name that counts how often it is compared or looked up."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        _Name.looks += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        _Name.looks += 1
        return str.__hash__(self)


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("added", [False, True])
def test_the_work_for_a_member_does_not_grow_with_their_number(*, reordered: bool, added: bool) -> None:
    looks = []
    for number in (500, 2000):
        before = {_Name(f"a{place}"): place for place in range(number)}
        after = dict(reversed(before.items()) if reordered else before.items()) | {_Name("a5"): -1}
        if added:
            after |= {_Name(f"b{place}"): place for place in range(number)}
        _Name.looks = 0
        changed = apply_difference(dict(before), before, after)
        looks.append(_Name.looks / len(after))
        assert changed == after
        assert not reordered or list(changed) == list(after)
    assert looks[1] <= looks[0] * 1.1


def test_a_repository_gets_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    icechunk = pytest.importorskip("icechunk")
    monkeypatch.chdir(tmp_path)
    dataset = nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    nczarr.write(dataset, "icechunk:repo")
    old = nczarr.digest("repo")
    done = nczarr.edit("repo", attributes={"/v@units": "K"})
    assert done.undo_file == "repo.undo-1.json"
    assert nczarr.open("repo")["v"].attributes["units"] == "K"
    for changes, text in (({"rename": {"/v": "w"}}, "does not move"), ({"delete": ["/v"]}, "removes the chunks")):
        with pytest.raises(CompileError, match=text):
            nczarr.edit("repo", **changes)
    nczarr.edit("repo", undo=done.undo_file)
    assert nczarr.digest("repo") == old
    history = icechunk.Repository.open(icechunk.local_filesystem_storage("repo")).ancestry(branch="main")
    assert [each.message for each in history][:2] == ["Edit the header"] * 2


def test_json_that_the_model_holds_as_text_keeps_its_form_under_a_new_name() -> None:
    before, after = {"a": '{"x": 1}', "b": 1}, {"c": '{"x": 1}', "b": 1}
    assert apply_difference({"a": {"x": 1}, "b": 1}, before, after) == {"c": {"x": 1}, "b": 1}


@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_a_dimension_of_what_a_file_had_in_one_piece_grows(form: str, tmp_path: Path) -> None:
    """Arrays of stores have chunks; a netCDF-4 file would have to be written again."""
    file, path = tmp_path / "u.nc", tmp_path / "u.zarr"
    text = "netcdf u { dimensions: x = 3 ; variables: double x(x) ; data: x = 1, 2, 3 ; }"
    nczarr.write(nczarr.from_cdl(text), file, kind="nc4")
    nczarr.convert(file, path, form)
    before = contents(path)
    header = text.partition("data:")[0].replace("x = 3", "x = UNLIMITED") + "}"
    done = nczarr.edit(path, header)
    assert nczarr.open(path).dataset.dimensions[0].unlimited
    assert run_command("check", str(path), "--strict").status == 0
    nczarr.edit(path, undo=done.undo_file)
    assert contents(path) == before
    (tmp_path / "header.cdl").write_text(header)
    ran = run_command("edit", str(file), "--header", str(tmp_path / "header.cdl"))
    assert ran.status != 0
    assert "error[data-edit]" in ran.err
    assert "--unlimited /x` writes a new dataset" in ran.err
