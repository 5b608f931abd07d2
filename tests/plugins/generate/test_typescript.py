"""Readers in TypeScript compile under `tsc --strict`, and read what the compiler writes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.conftest import missing_peer
from tests.support.generated import HOSTILE, SAMPLES, run
from tests.support.peers import SCRIPTS

pytestmark = [pytest.mark.peer, pytest.mark.long]

PACKAGES = {"typescript": "7.0.2", "zarrita": "0.7.5", "@types/node": "26.6.7"}

OPTIONS = {
    **dict.fromkeys(("strict", "skipLibCheck", "noUnusedLocals", "noUnusedParameters", "noImplicitReturns"), True),
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "target": "es2022",
    "module": "nodenext",
    "lib": ["es2022", "dom"],
    "types": ["node"],
    "outDir": "out",
    "rootDir": "src",
}

UNREAD = {"storage": "UnknownCodecError", "strings": "dataType.match", "station": "dataType.match"}
"""Stores of Zarr v3 that zarrita cannot read: chars have a type with a configuration, and a checksum is unknown."""


@pytest.fixture(scope="module")
def project(tool: Callable[[str], str]) -> Path:
    """A folder with the compiler and zarrita, installed once for all runs (NCZARR_TYPESCRIPT names another)."""
    npm, version = tool("npm"), "-".join(PACKAGES.values())
    tool("node")
    folder = Path(os.environ.get("NCZARR_TYPESCRIPT") or Path(tempfile.gettempdir()) / f"nczarr-typescript-{version}")
    if not all((folder / "node_modules" / name / "package.json").is_file() for name in PACKAGES):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n', encoding="utf-8")
        wanted = [f"{name}@{number}" for name, number in PACKAGES.items()]
        options = ["--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=60000", "--prefix", folder]
        done = subprocess.run([npm, "install", *options, *wanted], capture_output=True, text=True, check=False)
        if done.returncode:  # a machine may have npm and no way to the registry
            missing_peer("typescript")
    return folder


def compile_readers(schemas: dict[str, nczarr.DatasetHandle], project: Path, folder: Path) -> None:
    """Compile the readers of schemas in a folder of their own."""
    for name, target in (("node_modules", project / "node_modules"), ("package.json", project / "package.json")):
        (folder / name).symlink_to(target)
    (folder / "src").mkdir()
    for schema in schemas.values():
        for name, text in nczarr.generate("typescript", schema).items():
            (folder / "src" / name).write_text(text, encoding="utf-8")
    (folder / "src" / "run.ts").write_text((SCRIPTS / "generated_reader.ts").read_text("utf-8"), encoding="utf-8")
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS}), encoding="utf-8")
    assert run(folder / "node_modules" / ".bin" / "tsc", "-p", folder) == ""


def read(folder: Path, name: str, stores: list[Path]) -> list[dict[str, object]]:
    """Return the values that a reader finds in stores."""
    function = "open" + "".join(part[0].upper() + part[1:] for part in name.split("_"))
    lines = run("node", folder / "out" / "run.js", f"./{name}.js", function, *stores).splitlines()
    return [json.loads(line) for line in lines]


def list_values(schema: nczarr.DatasetHandle, path: str) -> list[object]:
    """Return the values of a variable as JSON has them in JavaScript."""
    found = np.asarray(schema[path][...]).reshape(-1)
    if found.dtype in ("i8", "u8"):
        return [str(value) for value in found.tolist()]
    texts = (one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in found.tolist())
    return ["" if one is None else one for one in texts]


def test_readers_of_samples_compile_and_read(project: Path, tmp_path: Path) -> None:
    schemas = {"hostile": nczarr.from_cdl(HOSTILE.replace(r"\#\!\\n", r"\!n").replace(r"v\"\\", r"v\""))}
    for sample in SAMPLES:
        if sample.name[:2] not in ("03", "05", "11", "12"):
            schema = nczarr.open(sample)
            schemas[schema.dataset.name] = schema
    compile_readers(schemas, project, tmp_path)
    for name, schema in schemas.items():
        stores = [tmp_path / f"{name}.2.zarr", tmp_path / f"{name}.3.zarr"]
        for store, format_name in zip(stores, ("nczarr", "nczarr3"), strict=True):
            nczarr.write(schema, store, format=format_name)
        for store, found in zip(stores, read(tmp_path, name, stores), strict=True):
            if store.name.endswith(".3.zarr") and name in UNREAD:
                assert UNREAD[name] in str(found)
            elif name == "storage":
                assert "UnknownCodecError" in str(found)
            else:
                paths = {path: f"/{'/'.join(nczarr.names.split(path))}" for path in schema}
                assert {key: found[key] for key in paths.values()} == {
                    key: list_values(schema, path) for path, key in paths.items()
                }


def test_other_stores_are_refused(project: Path, tmp_path: Path) -> None:
    schema = nczarr.from_cdl('netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:units = "m" ; }')
    compile_readers({"d": schema}, project, tmp_path)
    others = {
        'type is "float32"': 'dimensions: x = 2 ; variables: float v(x) ; v:units = "m" ;',
        "shape is [3]": 'dimensions: x = 3 ; variables: int v(x) ; v:units = "m" ;',
        'attribute units is "K"': 'dimensions: x = 2 ; variables: int v(x) ; v:units = "K" ;',
        "Not found": "dimensions: x = 2 ;",
    }
    stores = []
    for number, text in enumerate(others.values()):
        stores.append(tmp_path / f"{number}.zarr")
        nczarr.write(nczarr.from_cdl(f"netcdf d {{ {text} }}"), stores[-1], format="zarr3")
    for message, found in zip(others, read(tmp_path, "d", stores), strict=True):
        assert message in str(found["error"])
