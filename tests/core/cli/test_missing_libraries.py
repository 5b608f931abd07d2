"""Libraries that are not installed: one diagnostic with the line that installs them, and the status for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

import nczarr
from tests.conftest import missing_peer

COMMAND = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from nczarr.__main__ import main
sys.exit(main(sys.argv[2:]))
"""

CDL = "netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"


JINJA = '{"version": 1, "templates": {"u": "b"}, "refs": {"k": ["{% if 1 %}a{{u}}{% endif %}.nc"]}}'


def run(blocked: str, arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command where some modules cannot be imported."""
    command = [sys.executable, "-c", COMMAND, blocked, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("missing")
    (made / "t.cdl").write_text(CDL)
    (made / "jinja.json").write_text(JINJA)
    found = nczarr.from_cdl(CDL)
    for name, more in (("t.nc", {"kind": "nc4"}), ("t.zarr", {}), ("t.ncs", {}), ("t.awkd", {})):
        nczarr.write(found, made / name, **more)
    if find_spec("h5py") is not None:
        import h5py

        with h5py.File(made / "filtered.h5", "w") as file:  # HDF5 alone decodes this filter
            file.create_dataset("v", data=range(100), chunks=(50,), scaleoffset=0)
    return made


CASES = {
    "pygls": ("lsp", ["lsp", "lsp --strict"]),
    "netCDF4": ("netcdf", ["dump filtered.h5", "convert filtered.h5 o.zarr", "convert t.zarr o.nc --kind nc4",
                           "digest filtered.h5"]),
    "google.protobuf": (
        "ncstream",
        ["dump t.ncs", "convert t.ncs o.nc", "convert t.zarr o.ncs", "compile t.cdl -o o.ncs", "check t.ncs",
         "diff t.zarr t.ncs", "digest t.ncs"],
    ),
    "fsspec": ("remote", ["dump s3://b/t.zarr", "convert t.zarr s3://b/t.zarr", "convert t.zarr s3://b/t.nc",
                          "convert http://127.0.0.1:1/t.zarr o.nc", "compile t.cdl -o s3://b/t.zarr",
                          "dump cdmremote:http://127.0.0.1:1/t.nc"]),
    "s3fs": ("remote", ["dump s3://b/t.zarr", "convert t.zarr s3://b/t.zarr", "convert t.zarr s3://b/t.nc"]),
    "aiohttp": ("remote", ["dump http://127.0.0.1:1/t.zarr", "dump cdmremote:http://127.0.0.1:1/t.nc"]),
    "pyarrow": ("references", ["convert t.zarr o.parq"]),
    "jinja2": ("references", ["refs expand jinja.json --jinja"]),
    "distributed": ("dask", ["convert t.zarr o.zarr --dask tcp://127.0.0.1:1"]),
    "uvicorn": ("serve", ["serve ."]),
    "starlette": ("serve", ["serve ."]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "command"), [(module, command) for module, (_, commands) in CASES.items() for command in commands]
)
def test_an_extra_that_is_not_installed(module: str, command: str, folder: Path) -> None:
    if "filtered.h5" in command and not (folder / "filtered.h5").exists():
        missing_peer("h5py")
    extra, _ = CASES[module]
    status, said = run(module, command.split(), folder)
    assert said.count("error[") == 1, said
    assert "error[missing-library]" in said
    assert f"`pip install 'nczarr[{extra}]'`" in said
    assert status == 3
    assert not list(folder.glob("o.*"))


@pytest.mark.slow
@pytest.mark.parametrize("url", ["abfs://c/t.zarr", "az://c/t.nc", "gs://c/t.zarr", "gcs://c/t.nc"])
@pytest.mark.parametrize("command", ["dump {}", "convert t.zarr {}", "compile t.cdl -o {}", "convert {} o.nc"])
def test_a_protocol_whose_library_is_not_installed(url: str, command: str, folder: Path) -> None:
    status, said = run("adlfs,gcsfs", command.format(url).split(), folder)
    assert said.count("error[missing-library]") == 1, said
    assert f"`pip install {'gcsfs' if url.startswith('g') else 'adlfs'}`" in said
    assert status == 3


def test_python_raises_one_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    for source, target in (("abfs://c/t.zarr", folder / "o.nc"), (folder / "t.zarr", "abfs://c/t.zarr")):
        with pytest.raises(nczarr.CompileError, match="missing-library"):
            nczarr.convert(source, target)


@pytest.mark.slow
def test_other_failed_imports_are_internal_errors(folder: Path) -> None:
    status, said = run("nczarr.plan.planner", ["convert", "t.zarr", "o.nc"], folder)
    assert "error[internal-error]" in said
    assert status == 1
