"""A variable's own `_FillValue`: what a pure store declares of it, and what it would lose."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

BOTH = {"zarr2", "zarr3"}
CASES = [
    ("int v ;", "5", set(), ""),
    ("double v ;", "NaN", set(), ""),
    ("char v(n) ;", '"x"', set(), ""),
    ("char v(n) ;", '"\\351"', {"zarr2"}, "altered-attribute"),
    ("string v(n) ;", '"x"', set(), ""),
    ("string v(n) ;", '"\\351"', {"zarr2"}, "altered-attribute"),
    ("string v(n) ;", "NIL", BOTH, "lost-nil"),
    ("key v(n) ;", "0XABCD", {"zarr2"}, "lost-attribute"),
    ("row v(n) ;", "{1, 2}", BOTH, "lost-attribute"),
    ("flag v(n) ;", "on", set(), ""),
]


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "nczarr3", "zarr3-2019"])
@pytest.mark.parametrize(("variable", "fill", "losers", "code"), CASES)
def test_own_fill_values(variable: str, fill: str, losers: set[str], code: str, form: str) -> None:
    text = (
        "netcdf t {\ntypes:\n  opaque(2) key ;\n  int(*) row ;\n  byte enum flag {on = 1} ;\n"
        f"dimensions:\n  n = 2 ;\nvariables:\n  {variable}\n  {variable.split()[0]} v:_FillValue = {fill} ;\n}}\n"
    )
    ran = run_command("compile", "-", "--to", form, "--allow-loss", "lost-type", stdin=text.encode())
    assert ran.status == int(form in losers), ran.err
    assert (f"error[{code}]" in ran.err) == (form in losers)
    assert "internal-error" not in ran.err


def test_a_fill_value_of_zeros_in_a_record_is_the_default(tmp_path: Path) -> None:
    """A record that was never written is zeros, so that nothing is lost but the attribute."""
    text = b"netcdf t {\ntypes: compound a { byte b ; } ;\nvariables: a v ;\n a v:_FillValue = {0} ;\n}\n"
    done = run_command("compile", "-", "-o", str(tmp_path / "t.zarr"), "--to", "zarr2", stdin=text)
    assert done.status == 0
    assert "fill values equal to the default of their type (1)" in done.err
    with nczarr.open(tmp_path / "t.zarr") as found:
        assert found["v"][...].tobytes() == b"\0"


@pytest.mark.parametrize(
    ("dtype", "stored", "declared", "losers"),
    [
        ("<f4", 0, float("nan"), {"zarr2"}),
        ("|S1", "", "q", {"zarr3"}),
        ("|O", "", "q", {"zarr3"}),
        ("<i4", 0, 7, set()),
        ("<f8", 0, 1.5, set()),
    ],
)
@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr"])
def test_a_fill_value_beside_another_one_of_the_array(
    dtype: str, stored: object, declared: object, losers: set[str], form: str, tmp_path: Path
) -> None:
    """Zarr has both: what absent chunks read as, and the attribute. A target has to keep both, or say so."""
    array = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": dtype, "fill_value": stored, "order": "C"}
    array |= {"compressor": None, "filters": [{"id": "vlen-utf8"}] if dtype == "|O" else None}
    documents = {
        ".zgroup": {"zarr_format": 2},
        "v/.zarray": array,
        "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], "_FillValue": declared},
    }
    for key, document in documents.items():
        path = tmp_path / "s.zarr" / key
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(document))
    ran = run_command("convert", str(tmp_path / "s.zarr"), str(tmp_path / "t.zarr"), "--to", form)
    assert ran.status == int(form in losers), ran.err
    assert ("error[lost-attribute]" in ran.err) == (form in losers)
    if form not in losers:
        assert run_command("diff", str(tmp_path / "s.zarr"), str(tmp_path / "t.zarr")).out == b""


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "nczarr3"])
@pytest.mark.parametrize("fill", [b"a\0b", b"ab", b"\0\0x"])
def test_a_fill_value_of_fixed_texts(fill: bytes, form: str, tmp_path: Path) -> None:
    """Zarr v2 declares it in base64. No attribute of plain JSON holds its NUL, so the array's value stands alone."""
    array = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|S4", "order": "C", "compressor": None}
    array |= {"fill_value": base64.b64encode(fill.ljust(4, b"\0")).decode(), "filters": None}
    for key, document in {
        ".zgroup": {"zarr_format": 2},
        "v/.zarray": array,
        "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
    }.items():
        path = tmp_path / "s.zarr" / key
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(document))
    (tmp_path / "s.zarr" / "v" / "1").write_bytes(b"abcdef\0\0")
    source, target = str(tmp_path / "s.zarr"), str(tmp_path / "t.zarr")
    ran = run_command("convert", source, target, "--to", form)
    assert (ran.status, "error" in ran.err) == (0, False)
    assert run_command("diff", source, target).out == b""
    if form == "zarr2":
        written = json.loads((tmp_path / "t.zarr" / "v" / ".zarray").read_text())
        shown = json.loads((tmp_path / "t.zarr" / "v" / ".zattrs").read_text())
        exact = fill == b"ab"
        assert (base64.b64decode(written["fill_value"] or "").rstrip(b"\0") == fill) != exact
        assert ("_FillValue" in shown) == exact


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "nczarr3", "zarr3-2019"])
def test_the_bits_of_a_nan_are_kept_or_told(form: str, tmp_path: Path) -> None:
    odd = base64.b64encode(b"\x01\x00\xc0\x7f").decode()
    fill = {"name": "_FillValue", "value": {"type": "float", "count": 1, "base64": odd}}
    variable = {"name": "v", "type": "float", "dimensions": [2], "attributes": [fill]}
    document = {"ast": 1, "dataset": {"name": "t", "variables": [variable]}}
    (tmp_path / "t.ast.json").write_text(json.dumps(document))
    done = run_command("convert", str(tmp_path / "t.ast.json"), str(tmp_path / "t.zarr"), "--to", form)
    assert done.status == 0, done.err
    differs = run_command("diff", str(tmp_path / "t.ast.json"), str(tmp_path / "t.zarr"))
    assert ("bits of unusual NaNs" in done.err) == (b"_FillValue" in differs.out) == (form == "zarr2"), differs.out
