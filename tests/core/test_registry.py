"""The table of formats: detection, targets, others that join."""

from __future__ import annotations

import subprocess
import sys
from typing import cast

import pytest

from nczarr import registry
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("name", "head", "wanted"),
    [
        ("-", b"netcdf t {}", "cdl"),
        ("-", b"\xef\xbb\xbf // comment\n/* and\n another */ netcdf t {}", "cdl"),
        ("wrong.ncz", b"netcdf t {}", "cdl"),
        ("x.cdl", b"", "cdl"),
        ("x.cdl", b"netdcf typing error", "cdl"),
        ("x.CDL", b"", "cdl"),
        ("-", b"dataset t 2.0.0 {}", "notation"),
        ("wrong.cdl", b" // c\ndataset t 2.0.0 {}", "notation"),
        ("x.ncz", b"", "notation"),
        ("x.ast.json", b"", "ast"),
        ("-", b"", None),
        ("-", b"netcdfs are no dataset", None),
        ("x.txt", b"once upon a time", None),
    ],
)
def test_detection(name: str, head: bytes, wanted: str | None) -> None:
    found = registry.detect(name, head)
    assert (found.name if found else None) == wanted


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a/x.zarr", "nczarr"),
        ("x.cdl", "cdl"),
        ("x.ncz", "notation"),
        ("x.ast.json", "ast"),
        ("x.json", "reference"),
        ("x.parq", "reference"),
        ("x", None),
        ("zarr", None),
    ],
)
def test_targets(path: str, wanted: str | None) -> None:
    found = registry.for_target(path)
    assert (found.name if found else None) == wanted


def test_rows_have_the_names_of_their_formats() -> None:
    for name in registry.own_rows():
        found = registry.find_format(name)
        assert found is not None
        assert found.name == name
        assert found.readable or found.writable
        for function in (found.read, found.emit, found.write, found.target.build):
            assert function is None or callable(registry.load(function))
        assert all(registry.find_format(other) for other in found.target.kinds.values())
    assert registry.find_format("no such format") is None


OTHER = registry.Format("ours", "", (), "")
BROKEN = registry.Format("broken", "", (), "", detects="(")
FLAT = registry.Format("flat", "", (), "", display=cast("registry.Display", {"dumped": True}))


def test_rows_of_others_that_cannot_be_used_are_named() -> None:
    own = f"{__name__}:OTHER"
    others = {
        "cdl": own,
        "gone": "no.module:FORMAT",
        "named": own,
        "text": "nczarr.registry:STORE",
        "ours": own,
        "broken": f"{__name__}:BROKEN",
        "flat": f"{__name__}:FLAT",
    }
    rows, sentences = registry.join(registry.ROWS, others.items())
    assert rows == {**registry.ROWS, "ours": own}
    faults = {fault.split("`")[1]: fault.partition("is not used: ")[2] for fault in sentences}
    assert faults.keys() == others.keys() - {"ours"}
    assert faults["cdl"] == f"the name is taken by {registry.ROWS['cdl']}"
    assert faults["gone"] == "no.module:FORMAT cannot be loaded: ModuleNotFoundError: No module named 'no'"
    assert faults["flat"] == "its `display` is no `Display`"
    assert faults["named"] == "it is no `Format` with the name `named`"


def test_rows_load_none_of_what_they_name() -> None:
    """The rows of all formats are loaded where a suffix is looked for: in each conversion."""
    code = "import sys; from nczarr import registry; list(registry.formats()); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("nczarr.")}
    assert rooms == {"diagnostics", "formats", "names", "plugins", "registry", "stores"}


def test_formats_are_listed_by_a_field_of_their_parts() -> None:
    assert {"cdl", "netcdf4"} & {*registry.list_names_with("display.dumped")} == {"cdl"}
    assert {"cdl", "netcdf4"} & {*registry.list_names_with("reading.isolates")} == {"netcdf4"}
