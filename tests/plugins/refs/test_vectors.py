"""The vectors of the shared data as stores: the bytes of each key that they tell, and what is refused by its name."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.reference.lookup import opens
from nczarr.options import Options
from nczarr.stores.references import ReferenceStore
from tests.conftest import shared_folder

SHARED = shared_folder()
FOLDER = SHARED / "data/references" if SHARED is not None else Path()
INDEX = json.loads((FOLDER / "index.json").read_text()) if SHARED is not None else {"vectors": [], "targets": {}}
VECTORS = {each["id"]: json.loads((FOLDER / each["file"]).read_text()) for each in INDEX["vectors"]}
READS = [name for name, vector in VECTORS.items() if "reads" in vector and "error" not in vector.get("require", {})]
REFUSED = [
    name
    for name, vector in VECTORS.items()
    if ("error" in vector and "require" not in vector) or "error" in vector.get("require", {})
]
needs_vectors = pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")


@pytest.fixture(autouse=True)
def targets(peer: Callable[[str], ModuleType]) -> Iterator[None]:
    files = peer("fsspec").filesystem("memory")
    for name, data in INDEX["targets"].items():
        files.pipe(f"/{name}", base64.b64decode(data))
    yield
    files.rm("/t", recursive=True)


def opened(name: str) -> tuple[ReferenceStore | None, Report]:
    report = Report()
    source = Source(f"{name}.json", json.dumps(VECTORS[name]["spec"]).encode())
    return opens(source, report, Options.of(allow_loss=frozenset({"unread"}))), report


def plain(data: bytes | None) -> Any:
    """JSON as what it says, anything else as it is."""
    try:
        return json.loads(data or b"")
    except ValueError:
        return data


@needs_vectors
@pytest.mark.parametrize("name", READS)
def test_the_bytes_of_keys(name: str) -> None:
    vector = VECTORS[name]
    store, report = opened(name)
    if store is None:  # what fsspec notices when it reads
        assert any("error" in wanted for wanted in vector["reads"].values())
        assert all(
            f"`{key}`" in each.message or key in str(each) for each in report.list_sorted() for key in vector["reads"]
        )
        return
    for key, wanted in vector["reads"].items():
        if wanted.get("error") == "FileNotFoundError":
            assert store.get(key) is None
        elif "error" in wanted or key in vector.get("require", {}):
            with pytest.raises((CompileError, OSError), match=key):
                store.get(key)
        else:
            assert plain(store.get(key)) == plain(base64.b64decode(wanted["base64"]))
    for wanted in vector.get("range_reads", ()):
        whole = store.get(wanted["key"])
        assert whole is not None
        start, stop, _ = slice(wanted["start"], wanted["end"]).indices(len(whole))
        assert store.part(wanted["key"], start, stop - start) == base64.b64decode(wanted["base64"])


@needs_vectors
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    store, report = opened(name)
    assert store is None
    assert report.errors


@needs_vectors
@pytest.mark.parametrize("folder", [each["folder"] for each in INDEX.get("parquet", ())])
def test_a_folder_of_parquet(folder: str, peer: Callable[[str], ModuleType]) -> None:
    peer("pyarrow")
    from nczarr.stores.directory import DirectoryStore

    wanted = json.loads((FOLDER / folder).with_suffix(".json").read_text())
    store = opens(DirectoryStore(str(FOLDER / folder)), Report(), Options())
    assert store is not None
    for key, value in wanted["expanded"].items():
        if isinstance(value, dict):
            assert plain(store.get(key)) == value
        elif isinstance(value, str):
            data = base64.b64decode(value.removeprefix("base64:")) if value.startswith("base64:") else value.encode()
            assert store.get(key) == data
        else:
            url, *place = value
            target = base64.b64decode(INDEX["targets"][url.removeprefix("memory://")])
            assert store.get(key) == (target[place[0] : sum(place)] if place else target)
    assert [store.get(key) for key in wanted["missing"]] == [None] * len(wanted["missing"])
