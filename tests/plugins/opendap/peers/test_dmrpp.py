"""DMR++ documents of Hyrax's own tools, whose values are those that h5py reads from the file; and documents of ours,
read by VirtualiZarr.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr import names
from nczarr.arrays.sources.source import ArraySource
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Following, Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from tests.conftest import missing_peer, run_command
from tests.support.peers import SCRIPTS
from tests.support.peers.references import others_interpreter

WRONG = {
    "f920b05d-t_string_compact.h5": "the document: it was edited, and holds `011` as the text",
    "b0fb29a4-FValue.h5": "neither: HDF5 never writes the fill value of the file, and leaves cells as they are",
    "c3f21944-FValue_chunk.h5": "neither: as above",
    "d80211b9-FValue_int8.h5": "neither: as above",
    "f8d202ce-FValue_uint8.h5": "neither: as above",
    "ab9eb65d-vlen.h5": "neither: Hyrax tells lists as a rectangle, with their lengths beside it",
    "8a1a928b-vlen_dim.h5": "neither: as above",
}
"""Documents that differ from their file in values, and what is wrong."""

LEFT_OUT = {
    "8182bf3c-chunked_scalar_string.h5": "refer to variable-length strings",
    "05a631aa-nc4_group_atomic.h5": "`byteOrde`",
    "64d7f01d-grid_2_2d_sin.h5": "does not give the place of its values",
    "12688fcc-grid_1_2d.h5": "does not give the place of its values",
}
"""Documents with variables that are left out, and what the diagnostic says."""


def all_of(source: ArraySource) -> Any:
    return source.read(tuple(slice(0, length) for length in source.layout.shape))


def opened(folder: Path, pair: dict[str, str]) -> tuple[Checked | None, Report]:
    report = Report()
    following = Following(target=str(folder / pair["target"]))
    options = Options.of(allow_loss=frozenset({"unreadable-array"}), following=following)
    return phases.read_path(str(folder / pair["document"]), report, options), report


def in_file(file: Any, path: str) -> Any:
    """The dataset of a variable. Hyrax replaces blanks and dots in names, and makes up variables of its own."""
    for name in names.split(path):
        if file is None:
            return None
        known = {each.replace(" ", "_").replace(".", "_"): each for each in file}
        file = file.get(name if name in file else known.get(name, name))
    return file


def equal(parts: dict[str, Any], wanted: Any) -> bool:
    """Whether the parts of a variable have the values that h5py reads."""
    if "" not in parts:
        return all(equal({"": found}, np.asarray(np.asarray(wanted[name]).tolist())) for name, found in parts.items())
    found, wanted = parts[""], np.asarray(wanted)
    if found.shape != wanted.shape:
        return False
    if found.dtype.names:
        return all(np.array_equal(found[name], wanted[name]) for name in found.dtype.names)
    if found.dtype == object:
        texts = (each if isinstance(each, bytes) else str(each).encode() for each in wanted.reshape(-1).tolist())
        return found.reshape(-1).tolist() == list(texts)
    return bool(np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"))


def state(folder: Path, pair: dict[str, str], h5py: ModuleType) -> str:
    """What becomes of a document: `equal`, `refused`, `left out`, `made up` or `unequal`."""
    found, report = opened(folder, pair)
    said = [(each.code, each.message) for each in report.list_sorted()]
    try:
        file = h5py.File(folder / pair["target"])
    except OSError:
        assert found is None
        assert [code for code, _ in said] == ["foreign-target"]
        return "refused"
    assert found is not None, said
    with file:
        states = {"left out"} if any(code == "unreadable-array" for code, _ in said) else set[str]()
        for path, parts in found.parts.items():
            dataset = in_file(file, path)
            if dataset is None:
                states.add("made up")
                continue
            try:
                states.add(
                    "equal" if equal({part: all_of(it) for part, it in parts.items()}, dataset[()]) else "unequal"
                )
            except (CompileError, OSError):
                states.add("unreachable")
    name = Path(pair["document"]).name.removesuffix(".dmrpp")
    for mark in ("unequal", "left out"):
        assert (mark in states) == (name in {"unequal": WRONG, "left out": LEFT_OUT}[mark]), (name, states)
    if "left out" in states:
        assert any(LEFT_OUT[name] in message for _, message in said)
    return next(
        each for each in ("unequal", "unreachable", "left out", "made up", "equal", "") if each in states or not each
    )


@pytest.mark.slow
def test_documents_of_hyrax(shared: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    folder = shared / "data" / "dmrpp"
    if not folder.is_dir():
        pytest.skip("the documents are not among the shared data")
    pairs = json.loads((folder / "index.json").read_text("utf-8"))["pairs"]
    states = Counter(state(folder, pair, h5py) for pair in pairs)
    assert states["refused"] == 22
    assert states["unequal"] == len(WRONG)
    assert states["equal"] + states[""] >= 130


CDL = """netcdf t {
dimensions:
  x = 4 ;
  y = 6 ;
variables:
  byte a(x, y) ;
    a:_ChunkSizes = 2, 3 ;
  ubyte b(x) ;
  short c(x, y) ;
    c:_ChunkSizes = 3, 4 ;
    c:_DeflateLevel = 1 ;
    c:_Shuffle = "true" ;
  ushort d(x) ;
  int e(x, y) ;
    e:_ChunkSizes = 4, 6 ;
    e:_DeflateLevel = 9 ;
  uint f(x) ;
  int64 g(x) ;
  uint64 h(x) ;
  float i(x, y) ;
    i:_FillValue = -1.f ;
    i:_ChunkSizes = 1, 6 ;
  double j(x) ;
data:
"""


@pytest.mark.long
def test_virtualizarr_reads_our_documents(tmp_path: Path) -> None:
    interpreter = others_interpreter()
    if interpreter is None:
        missing_peer("virtualizarr (NCZARR_KERCHUNK names its interpreter)")
    assert interpreter is not None
    lines = [f"  {name} = {', '.join(map(str, range(24 if name in 'acei' else 4)))} ;" for name in "abcdefghij"]
    path, document = tmp_path / "t.nc", tmp_path / "t.nc.dmrpp"
    text = CDL + "\n".join(lines) + "\n}\n"
    assert run_command("compile", "-", "-o", str(path), "-k", "nc4", stdin=text.encode()).status == 0
    assert run_command("convert", str(path), str(document)).status == 0
    reader = SCRIPTS / "read_dmrpp.py"
    done = subprocess.run(
        [interpreter, str(reader), str(document)], capture_output=True, text=True, check=True, timeout=120
    )
    read = json.loads(done.stdout)
    found = phases.read_path(str(path), Report(), Options())
    assert found is not None
    wanted = {
        name[1:]: hashlib.sha256(np.ascontiguousarray(all_of(parts[""])).tobytes()).hexdigest()
        for name, parts in found.parts.items()
    }
    assert read == wanted
