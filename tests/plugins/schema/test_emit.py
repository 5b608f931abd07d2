"""`compile --emit`: phases of a compilation as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import nczarr
from tests.conftest import ROOT, Ran, run_command

SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


@pytest.fixture
def emit(nczarr_command: Callable[..., Ran]) -> Callable[..., list[dict[str, Any]]]:
    def records(phase: str, *arguments: str, stdin: bytes = b"") -> list[dict[str, Any]]:
        ran = nczarr_command("compile", *arguments, "--emit", phase, stdin=stdin)
        assert ran.status == 0, ran.err
        return [json.loads(line) for line in ran.text.splitlines()]

    return records


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_tokens_are_the_text(sample: Path, emit: Callable[..., list[dict[str, Any]]]) -> None:
    data = sample.read_bytes()
    found = emit("tokens", str(sample))
    spans = [record["span"]["bytes"] for record in found]
    assert [data[start:end].decode() for start, end in spans] == [record["text"] for record in found]
    assert spans == sorted(spans)
    rest = bytearray(data)
    for start, end in spans:
        rest[start:end] = b" " * (end - start)
    assert not rest.strip()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_tree_compiles_to_equal_bytes(
    sample: Path, emit: Callable[..., list[dict[str, Any]]], nczarr_command: Callable[..., Ran]
) -> None:
    (tree,) = emit("ast", str(sample))
    keys = nczarr.open(nczarr.open(sample).dataset).to_keys(allow_loss="all")
    again = nczarr_command("compile", "-", "--emit", "keys", "--allow-loss", "all", stdin=json.dumps(tree).encode())
    assert again.status == 0, again.err
    assert [json.loads(line)["key"] for line in again.text.splitlines()] == sorted(keys)
    assert nczarr.parse(json.dumps(tree)) == nczarr.open(sample).dataset


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_each_key_has_its_node_and_place(sample: Path, emit: Callable[..., list[dict[str, Any]]]) -> None:
    source = nczarr.open(sample)
    keys = source.to_keys()
    found = emit("keys", str(sample))
    assert {record["key"]: record["size"] for record in found} == {key: len(data) for key, data in keys.items()}
    text = sample.read_text(encoding="utf-8").splitlines()
    for record in found:
        path = record["node"]
        variables = source.checked.variables
        assert path in variables or path in source.checked.groups
        if path in variables:
            start, end = record["span"]["start"], record["span"]["end"]
            named = text[start["line"] - 1][start["column"] - 1 : end["column"] - 1]
            assert named.replace("\\", "").split("/")[-1] == variables[path].name


def test_the_analysis_has_what_follows_from_the_tree(emit: Callable[..., list[dict[str, Any]]]) -> None:
    cdl = b"netcdf d { dimensions: x = 2 ; variables: float v(x) ; v:_FillValue = -1.f ; }"
    found = {record["path"]: record for record in emit("analysed", "-", stdin=cdl)}
    assert list(found) == ["/", "/x", "/v", "/v@_FillValue"]
    assert (found["/x"]["length"], found["/x"]["uses"]) == (2, ["/v"])
    variable = found["/v"]
    assert (variable["type"], variable["dimensions"], variable["shape"]) == ("float", ["/x"], [2])
    assert variable["fill"]["values"] == [-1.0] if "values" in variable["fill"] else variable["fill"]
    assert variable["span"]["start"] == {"line": 1, "column": 49}


def test_the_plan_has_layouts_and_losses(emit: Callable[..., list[dict[str, Any]]]) -> None:
    cdl = b"netcdf d { dimensions: x = 9 ; variables: float v(x) ; string s ; }"
    chunked = ("--to", "zarr2", "--chunks", "x=4", "--codec", "zlib:5")
    found = emit("plan", "-", *chunked, stdin=cdl)
    assert [(record["node"], record["chunks"]) for record in found if record.get("shape")] == [("/v", [4])]
    assert found[0]["codecs"][-1] == {"id": 1, "parameters": [5]}
    (kept,) = emit("plan", "-", "-o", "a.nc", "--kind", "nc4", stdin=b"netcdf d { variables: int v ; }")
    assert (kept["node"], kept["kind"]) == ("/v", "nc4")


def test_faults_are_reported_and_nothing_is_written(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    target = tmp_path / "a.zarr"
    wrong = nczarr_command(
        "compile", "-", "-o", str(target), "--emit", "keys", stdin=b"netcdf d { variables: int v(x) ; }"
    )
    assert (wrong.status, wrong.text) == (1, "")
    assert "error[undefined-dimension]" in wrong.err
    assert nczarr_command("compile", "-", "--emit", "key", stdin=b"").err.count("did you mean") == 1
    assert (
        "is not a store and has no keys"
        in nczarr_command("compile", "-", "--to", "cdl", "--emit", "keys", stdin=b"netcdf d {}").err
    )
    assert not target.exists()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("phase", ["tokens", "analysed", "plan", "keys"])
@pytest.mark.parametrize("target", ["zarr2", "netcdf4", "netcdf3", "zarr3", "nczarr"])
def test_records_follow_the_published_schema(phase: str, target: str) -> None:
    if phase == "keys" and target.startswith("netcdf"):
        pytest.skip("files have no keys")
    document = json.loads((ROOT / "docs" / "reference" / "emit.schema.json").read_text())
    validator = jsonschema.Draft202012Validator({**document, "$ref": f"#/$defs/{phase}"})
    records = 0
    for sample in sorted((ROOT / "samples").glob("*.cdl")):
        ran = run_command("compile", str(sample), "--to", target, "--emit", phase, "-q")
        for line in ran.out.splitlines():
            faults = [error.message for error in validator.iter_errors(json.loads(line))]
            assert faults == [], line
            records += 1
    assert records > 10
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"key": "x", "other": 1})
