"""Keys of any reference document with their bytes, beside fsspec's reference file system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import nczarr.refs
import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.stores.base import Reference
from tests.conftest import run_command

BYTES = bytes(range(256)) * 4


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One that is no Zarr: text, bytes, ranges, a whole file, generated keys, keys with odd characters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.bin").write_bytes(BYTES)
    url = str(tmp_path / "data.bin")
    return {
        "version": 1,
        "templates": {"u": url},
        "gen": [
            {
                "key": "made/{{i}}.part",
                "url": "{{u}}",
                "offset": "{{i * 10}}",
                "length": "10",
                "dimensions": {"i": [0, 3]},
            }
        ],
        "refs": {
            "readme": "some text",
            "b64": "base64:AAECAw==",
            "whole": ["{{u}}"],
            "a b/é/range": ["{{u}}", 100, 7],
            "a b/é/other": [url, 0, 0],
            "deep/er/x": "",
        },
    }


def test_bytes_are_those_of_fsspec(document: dict[str, Any], peer: Callable[[str], ModuleType]) -> None:
    fsspec = peer("fsspec")
    theirs = fsspec.filesystem("reference", fo=nczarr.refs.expand(document), remote_protocol="file")
    refs = nczarr.refs.mapping(document)
    assert sorted(refs) == sorted(theirs.find(""))
    assert dict(refs) == {key: theirs.cat(key) for key in theirs.references}
    assert {key: refs.measure(key) for key in refs} == {key: len(theirs.cat(key)) for key in refs}
    for folder in ("", "a b", "a b/é", "made", "deep"):
        names = {each["name"].rstrip("/") + "/" * (each["type"] == "directory") for each in theirs.ls(folder)}
        assert set(refs.list(folder)) == names, folder


def test_places(document: dict[str, Any]) -> None:
    refs = nczarr.refs.mapping(document)
    path = document["templates"]["u"]
    assert refs.locate("made/3.part") == Reference(path, 30, 10)
    assert (refs.locate("whole"), refs.locate("readme")) == (Reference(path), None)
    assert ("whole" in refs, "none" in refs, len(refs)) == (True, False, 8)
    with pytest.raises(KeyError):
        refs["none"]


def test_a_short_or_missing_target_is_no_missing_key(document: dict[str, Any], tmp_path: Path) -> None:
    document["refs"] = {"beyond": ["{{u}}", 1000, 100], "gone": [str(tmp_path / "gone.bin"), 0, 1]}
    refs = nczarr.refs.mapping(document)
    with pytest.raises(CompileError, match="short-target"):
        refs["beyond"]
    with pytest.raises(FileNotFoundError):
        refs["gone"]


def test_commands(document: dict[str, Any]) -> None:
    Path("refs.json").write_text(json.dumps(document))
    assert run_command("refs", "ls", "refs.json").text.splitlines() == [
        "a b/", "b64", "deep/", "made/", "readme", "whole"
    ]  # fmt: skip
    assert run_command("refs", "ls", "refs.json", "made/").text.splitlines() == ["made/0.part", "made/3.part"]
    listed = [
        line.split("  ") for line in run_command("refs", "ls", "-l", "--recursive", "refs.json").text.splitlines()
    ]
    sizes = {line[-2]: (line[-3].strip(), line[-1]) for line in listed}
    path = document["templates"]["u"]
    assert (len(sizes), sizes["made/3.part"], sizes["whole"]) == (8, ("10", f"{path}@30"), ("?", f"{path}@0"))
    assert sizes["b64"] == ("4", "in the document")
    ran = run_command("refs", "cat", "refs.json", "b64", "made/3.part")
    assert (ran.status, ran.out) == (0, bytes(range(4)) + BYTES[30:40])
    wrong = run_command("refs", "cat", "refs.json", "b64", "mad/3.part")
    assert (wrong.status, wrong.out, "did you mean `made/3.part`?" in wrong.err) == (1, b"", True)
    assert run_command("refs", "ls", "refs.json", "none").status == 1
    assert "the document has no key" in run_command("refs", "ls", "refs.json", "none").err


def test_keys_of_documents_that_are_no_zarr_are_written_out(document: dict[str, Any]) -> None:
    expanded = nczarr.refs.expand(document)
    assert (expanded["made/3.part"], expanded["readme"]) == ([document["templates"]["u"], 30, 10], "some text")
    assert dict(nczarr.refs.mapping(expanded)) == dict(nczarr.refs.mapping(document))
