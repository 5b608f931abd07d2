"""Documents that ask for more than they are: each refused at once, in a process of its own that is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.library import library

pyarrow = library("pyarrow")

CODE = """
import sys
from nczarr.__main__ import main
from tests.support.work import counted
with counted(5_000_000):
    status = main(sys.argv[1:])
peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))
print('@', status, peak, file=sys.stderr)
"""


def refused(*call: str) -> str:
    """Return the messages about a document; reading it takes less than 200 MB and few calls."""
    done = subprocess.run([sys.executable, "-c", CODE, *call], capture_output=True, text=True, cwd=ROOT, check=False)
    *lines, last = done.stderr.splitlines()
    _, status, peak = last.split()
    said = "\n".join(lines)
    assert (int(status), done.stdout) == (1, ""), said
    assert int(peak) * 1024 < 200e6
    assert "internal-error" not in said
    return said


GENERATOR = {"key": "a/{{i}}", "url": "u", "dimensions": {"i": {"stop": 10**7}}}
SQUARE = {**GENERATOR, "dimensions": {"i": {"stop": 10**5}, "j": {"stop": 10**5}}}
SMALL: dict[str, tuple[Any, str]] = {
    "attribute": ({"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{u.__class__}}"]}}, "bad-expression"),
    "text": ({"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{u*200000000}}"]}}, "oversized-expansion"),
    "entries": ({"version": 1, "gen": [SQUARE]}, "oversized-expansion"),
    "output": ({"version": 1, "gen": [{**GENERATOR, "url": "{{'x' * 60000}}"}]}, "oversized-expansion"),
    "negative": ({"version": 1, "gen": [{**GENERATOR, "offset": "{{i - 5}}", "length": "1"}]}, "bad-reference"),
    "overflow": ({"a": ["u", 2**62, 2**62]}, "bad-reference"),
    "negative offset": ({"a": ["u", -1, 4]}, "bad-reference"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("verb", ["expand", "compact"])
def test_small_documents(name: str, verb: str, tmp_path: Path) -> None:
    document, code = SMALL[name]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    assert f"error[{code}]" in refused("refs", verb, str(path))


LARGE: dict[str, Callable[[], bytes]] = {
    "text": lambda: b'{"a":"' + b"x" * 200_000_000 + b'"}',
    "base64": lambda: b'{"version":1,"refs":{"a":"base64:' + b"A" * 200_000_000 + b'"}}',
    "escapes": lambda: b'{"a":"' + b"\\u00e9" * 20_000_000 + b'"}',
    "blanks": lambda: b"{" + b" " * 200_000_000 + b"}",
    "digits": lambda: b'{"a":["u",' + b"9" * 50_000_000 + b",1]}",
    "brackets": lambda: b'{"a":' + b'{"b":' * 5_000_000 + b"1" + b"}" * 5_000_001,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_documents(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(LARGE[name]())
    assert "error[" in refused("refs", "expand", str(path))


def folder(place: Path, shape: int, rows: int, **columns: Any) -> str:
    """A folder of Parquet references with one array and one file."""
    from pyarrow import parquet

    array = {"zarr_format": 2, "shape": [shape], "chunks": [1], "dtype": "|u1", "compressor": None, "fill_value": 0}
    metadata = {".zgroup": {"zarr_format": 2}, "x/.zarray": {**array, "filters": None, "order": "C"}}
    (place / "x").mkdir()
    (place / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": rows}))
    if columns:
        table, options = pyarrow.table(columns), {"use_dictionary": ["path"], "write_statistics": False}
        parquet.write_table(table, place / "x/refs.0.parq", compression="zstd", **options)  # copies of `raw` take GB
    return str(place)


def test_rows_without_number(tmp_path: Path) -> None:
    assert "`record_size`" in refused("refs", "expand", folder(tmp_path, 10, 10**18))


@pytest.mark.slow
def test_one_long_url_for_many_rows(tmp_path: Path) -> None:
    rows = 1_000_000
    urls = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows, pyarrow.int32()), ["u" * 1_000_000])
    columns = {"path": urls, "offset": [0] * rows, "size": [1] * rows}
    assert "`x/0`: its URL has 1000000 characters" in refused("refs", "expand", folder(tmp_path, rows, rows, **columns))


@pytest.mark.slow
def test_data_that_inflate(tmp_path: Path) -> None:
    columns = {"raw": [b"\0" * 600_000_000, None]}
    assert "`x/refs.0.parq`: it declares 600000" in refused("refs", "expand", folder(tmp_path, 2, 2, **columns))


@pytest.mark.slow
def test_negative_and_overflowing_ranges_of_rows(tmp_path: Path) -> None:
    for number, (offset, size) in enumerate([(-1, 1), (2**62, 2**62), (0, -5)]):
        (tmp_path / str(number)).mkdir()
        path = folder(tmp_path / str(number), 1, 1, path=["u"], offset=[offset], size=[size])
        assert "error[bad-reference]: `x/0`" in refused("refs", "expand", path)
