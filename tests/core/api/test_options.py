from __future__ import annotations

import functools
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.options import ConvertOptions, KeysOptions, WriteOptions, options_from, subset_from
from nczarr.diagnostics.report import Report
from nczarr.options import Options, Writing
from tests.conftest import run_command


@pytest.mark.parametrize(
    ("function", "options"),
    [(nczarr.convert, ConvertOptions), (nczarr.write, WriteOptions), (nczarr.DatasetHandle.to_keys, KeysOptions)],
)
def test_a_signature_lists_every_option_once(function: object, options: type) -> None:
    shown = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    keywords = {each.name: each.default for each in shown if each.kind is inspect.Parameter.KEYWORD_ONLY}
    of_xarray = {"encoding", "unlimited_dims", "group"} if function is nczarr.write else set()
    assert keywords.keys() == options.__annotations__.keys() | of_xarray
    for name in ("overwrite", "max_size", "memory", "order", "kind"):
        assert name not in keywords or keywords[name] == Options().find(name)


def test_an_unknown_option_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"convert\(\).*'chunk'.*did you mean `chunks`"):
        nczarr.convert(tmp_path / "absent.nc", tmp_path / "t.zarr", chunk={"x": 1})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"write\(\).*'sections'"):
        nczarr.write(nczarr.from_cdl("netcdf a {}"), tmp_path / "t.zarr", sections=["v"])  # type: ignore[call-arg]


def test_options_of_a_run_are_those_that_are_given() -> None:
    made = options_from(
        kind="classic",
        chunks={"x": 3, "/v": (1, 2)},
        shards="auto",
        codecs="zlib:5",
        allow_loss="lost-type",
        memory=7,
        storage_options={"anon": True},
        writing=Writing(inline=1),
    )
    assert (made.target.kind, made.layout.chunks, made.layout.shards) == (
        "nc3",
        {"x": (3,), "/v": (1, 2)},
        {"": "auto"},
    )
    assert (made.layout.codecs, made.run.allow_loss, made.run.memory) == ({"": "zlib:5"}, {"lost-type"}, 7)
    assert made.run.storage.of("source") == {"anon": True}
    assert made.target.writing.inline == 1
    assert options_from() == Options.of(special=True, aggregation="expand")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"kind": "nc9"}, "is not a kind"), ({"shards": "big"}, "is not a shape of shards"), ({"allow_loss": "x"}, "x")],
)
def test_invalid_values_raise(given: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        options_from(**given)  # type: ignore[typeddict-item]


@pytest.mark.parametrize("option", ["chunks", "shards"])
@pytest.mark.parametrize(
    ("name", "lengths", "kind"),
    [("x", 0, ValueError), ("x", -2, ValueError), ("/v", (1, 0), ValueError), ("/v", (1, -7), ValueError),
     ("x", True, TypeError), ("x", 1.0, TypeError), ("/v", (1, 2.5), TypeError), ("/v", (1, False), TypeError)],
)  # fmt: skip
def test_lengths_that_are_none(option: str, name: str, lengths: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=re.escape(f"{option}={{{name!r}: {lengths!r}}}: a ")):
        options_from(**{option: {name: lengths}})  # type: ignore[misc]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [({"/v": (-1, 2)}, (5, 2)), ({"/v": (1, -1)}, (1, 3)), ({"t": -1, "x": 1}, (5, 1)), ({"t": np.int64(2)}, (2, 3))],
)
def test_minus_one_is_the_whole_dimension(chunks: dict[str, Any], expected: tuple[int, ...], tmp_path: Path) -> None:
    values = ", ".join(map(str, range(15)))
    text = f"netcdf a {{ dimensions: t = UNLIMITED ; x = 3 ; variables: int v(t, x) ; data: v = {values} ; }}"
    source = nczarr.from_cdl(text)
    for target in ("t.zarr", "t.nc"):
        nczarr.write(source, tmp_path / target, chunks=chunks)
        assert nczarr.open(tmp_path / target)["v"].chunks == expected
    if -1 in chunks.values():
        run = run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "u.zarr"), "--chunks", "t=-1,x=1")
        assert run.status == 0
        assert nczarr.open(tmp_path / "u.zarr")["v"].chunks == expected
    nczarr.write(source, tmp_path / "s.zarr", "zarr3", chunks={"t": 1, "x": 1}, shards={"/v": (-1, -1)})
    document = json.loads((tmp_path / "s.zarr" / "v" / "zarr.json").read_text())
    assert document["chunk_grid"]["configuration"]["chunk_shape"] == [5, 3]


def test_other_objects_are_not_written(tmp_path: Path) -> None:
    for given in ("a.nc", [1, 2], None):
        with pytest.raises(TypeError, match="write takes an open dataset"):
            nczarr.write(given, tmp_path / "t.nc")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [3, "anon", ["anon"], {1: "a"}])
def test_storage_options_are_a_dictionary_with_names(options: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="storage_options must be a dictionary with names of options"):
        nczarr.open(tmp_path / "a.zarr", storage_options=options)


def test_a_text_alone_is_one_name_and_not_its_characters() -> None:
    one = nczarr.from_cdl("netcdf d { variables: int vv ; int other ; data: vv = 1 ; other = 1 ; }")
    two = nczarr.from_cdl("netcdf d { variables: int vv ; int other ; data: vv = 2 ; other = 3 ; }")
    assert [difference.path for difference in nczarr.diff(one, two, variables="vv")] == ["/vv"]
    assert nczarr.digest(one, variables="vv") == nczarr.digest(one, variables=["vv"])
    report = Report()
    assert subset_from(report, variables="vv", sections="vv(0:1)").variables == ("vv",)
    assert not report.list_sorted()


@pytest.mark.parametrize("name", ["convert", "write", "rechunk", "DatasetHandle.to_keys"])
def test_help_lists_every_option_in_terms_of_python(name: str) -> None:
    function = functools.reduce(getattr, name.split("."), nczarr)
    described = inspect.getdoc(function) or ""
    entries = dict(re.findall(r"^(\w+) : (.+(?:\n(?! *$)(?!\S).*)*)", described, re.MULTILINE))
    parameters = inspect.signature(function).parameters
    for option in KeysOptions.__annotations__:
        kind, *lines = entries[option].split("\n")
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        assert kind.endswith(("optional", f"default {parameters[option].default!r}"))
        assert f"`{option}=" in " ".join(lines), f"{option} has no example"
    assert not re.search("--[a-z]", described)


@pytest.mark.parametrize("option", sorted(ConvertOptions.__annotations__))
def test_the_example_of_an_option_is_its_value(option: str) -> None:
    shown = re.findall(r"Example: `(.+?)`\.\n", inspect.getdoc(nczarr.convert) or "")
    (example,) = [text for text in shown if text.startswith(f"{option}=")]
    given = eval(f"dict({example})", {"nczarr": nczarr})
    made = options_from(**given)
    assert isinstance(made, Options)
