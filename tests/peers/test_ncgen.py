"""Files of ours against files of ncgen, from the same text and in the same run, as `ncdump -s -p 9,17` shows them."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nczarr.arrays.sources.memory import Runs
from nczarr.ast import Kind
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.netcdf4.define import default_chunks
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import dump
from nczarr.semantics.checked import Checked
from tests.conftest import run_command
from tests.support.peers import exactness
from tests.support.peers.dumps import Dump, differences, dumped
from tests.support.peers.ncgen import DIFFERENCES, REFUSED, unexplained
from tests.support.peers.ncgen_cases import CASES, compiled, corpus, large

TAKEN = [case for case in CASES if case not in REFUSED]

Tool = Callable[[str], str]
Peer = Callable[[str], ModuleType]


def marked(cases: list[tuple[str, Kind]]) -> list[object]:
    return [pytest.param(*case, id="-".join(case), marks=[pytest.mark.giant] if large(case) else []) for case in cases]


def generated(ncgen: str, source: Path, target: Path, kind: Kind) -> None:
    """The file of ncgen."""
    subprocess.run([ncgen, "-k", kind, "-o", str(target), str(source)], check=True, capture_output=True)


def without_undefined(dump: Dump, checked: Checked) -> Dump:
    """The dump without variables in which memory that was never written may show."""
    hidden = {path for path, variable in checked.variables.items() if variable.storage.no_fill}
    return dump._replace(data={path: text for path, text in dump.data.items() if path not in hidden})


@pytest.fixture
def same(tmp_path: Path, tool: Tool) -> Callable[[bytes, str, Kind], list[str]]:
    """What differs between our file and ncgen's."""
    ncgen, ncdump = tool("ncgen"), tool("ncdump")

    def compare(text: bytes, stem: str, kind: Kind) -> list[str]:
        source = tmp_path / f"{stem}.cdl"
        source.write_bytes(text)
        ours, theirs = tmp_path / "ours.nc", tmp_path / "theirs.nc"
        checked = compiled(text, source.name, ours, kind)
        generated(ncgen, source, theirs, kind)
        special = kind != "nc5"  # ncdump 4.9.0 fails on virtual attributes of CDF-5 files
        data = not large((stem, kind))  # a thousand million fill marks: the library compares them faster (below)
        dumps = [dumped(ncdump, path, special=special, data=data) for path in (theirs, ours)]
        _check_given(ours, checked)
        return differences(*(without_undefined(dump, checked) for dump in dumps))

    return compare


def _check_given(path: Path, checked: Checked) -> None:
    """Under `_NoFill`, the values that were given are there."""
    for fqn, variable in checked.variables.items():
        source = checked.parts.get(fqn, {}).get("")
        if not (variable.storage.no_fill and isinstance(source, Runs)):
            continue
        import netCDF4

        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            flat = np.asarray(file[fqn][...]).reshape(-1)
        for start, low, high in zip(source.starts, source.offsets, source.offsets[1:], strict=False):
            assert flat[start : start + high - low].tolist() == source.values[low:high].tolist(), fqn


@pytest.mark.program
@pytest.mark.sampled(7)
@pytest.mark.parametrize(("stem", "kind"), marked(CASES))
def test_the_corpus_as_ncgen_writes_it(stem: str, kind: Kind, same: Callable[[bytes, str, Kind], list[str]]) -> None:
    text = (corpus() / f"{stem}.cdl").read_bytes()
    if (stem, kind) in REFUSED:
        report = Report()
        assert phases.read(Source(stem, text), report, Options.of(kind=kind)) is None
        assert {found.code for found in report.list_sorted()} == {"format-conflict"}
        return
    assert unexplained(stem, kind, same(text, stem, kind)) == []


@pytest.mark.program
@pytest.mark.sampled(21)
@pytest.mark.parametrize(("stem", "kind"), marked([case for case in TAKEN if "ncgen3__big" not in case[0]]))
def test_our_dumps_compile_the_same_by_ncgen(
    stem: str, kind: Kind, same: Callable[[bytes, str, Kind], list[str]]
) -> None:
    report = Report()
    checked = phases.read(Source(stem, (corpus() / f"{stem}.cdl").read_bytes()), report, Options.of(kind=kind))
    assert checked is not None
    pieces = dump(checked, "cdl", report, Options.of(special=True))
    assert pieces is not None
    assert unexplained(stem, kind, same(b"".join(pieces), stem, kind), dump=True) == []


@pytest.mark.parametrize("seed", range(3))
def test_default_chunks_as_ncgen_chooses_them(seed: int, tmp_path: Path, tool: Tool) -> None:
    """Where a text asks for chunks without lengths: the same as ncgen's, whatever the default of our library."""
    draw = random.Random(seed)
    widths = {"byte": 1, "short": 2, "int": 4, "double": 8}
    dimensions, variables, wanted = [], [], {}
    for number in range(60):
        rank = draw.randint(1, 4)
        lengths = [None if draw.random() < 0.25 else int(10 ** draw.uniform(0, 7.5 / rank**0.5)) for _ in range(rank)]
        type_name = draw.choice(list(widths))
        names = [f"d{number}_{axis}" for axis in range(rank)]
        dimensions += [f"{name} = {length or 'UNLIMITED'} ;" for name, length in zip(names, lengths, strict=True)]
        variables.append(f"{type_name} v{number}({', '.join(names)}) ; v{number}:_DeflateLevel = 1 ;")
        wanted[f"v{number}"] = default_chunks(lengths, widths[type_name])
    source = tmp_path / "t.cdl"
    source.write_text(
        "netcdf t {\ndimensions:\n" + "\n".join(dimensions) + "\nvariables:\n" + "\n".join(variables) + "\n}"
    )
    generated(tool("ncgen"), source, tmp_path / "t.nc", "nc4")
    done = subprocess.run([tool("ncdump"), "-hs", str(tmp_path / "t.nc")], check=True, capture_output=True, text=True)
    found = re.findall(r"(v\d+):_ChunkSizes = ([\d, ]+) ;", done.stdout)
    assert {name: tuple(map(int, lengths.split(","))) for name, lengths in found} == wanted


@pytest.mark.parametrize(
    ("stem", "kind"),
    [pytest.param(*case, id="-".join(case),
                  marks=[pytest.mark.giant] if large(case) else [pytest.mark.slow] if number % 20 else [])
     for number, case in enumerate(TAKEN) if "ncgen3__big" not in case[0]],
)  # fmt: skip
def test_the_corpus_through_the_library(
    stem: str, kind: Kind, shared: Path, tmp_path: Path, tool: Tool, peer: Peer
) -> None:
    """What ncdump does not show, the C interface does: bytes of attributes, NIL, storage, fill modes."""
    peer("netCDF4")
    source, ours, theirs = corpus() / f"{stem}.cdl", tmp_path / "ours.nc", tmp_path / "theirs.nc"
    checked = compiled(source.read_bytes(), source.name, ours, kind)
    generated(tool("ncgen"), source, theirs, kind)
    lines = exactness.same(theirs, ours, shared / "tools", "--no-type-order", "--max", "0")
    undefined = {path for path, variable in checked.variables.items() if variable.storage.no_fill}
    known = {entry.file for entry in DIFFERENCES if entry.kind in (None, kind)}
    found = [line for line in lines if line.split(":")[0] not in undefined]
    assert stem in known or found == []


PLUGINS = {
    "nc_test4__noop": 40000,
    "nc_test4__noop1": 40001,
    "nc_test4__unknown": 33000,
    "nc_test4__ref_filtered": None,
    "nc_test4__ref_filteredvv": None,
    "nc_test4__ref_ncgenF": None,
    "nczarr_test__ref_filtered": None,
}
"""Files that ncgen refuses for want of a plug-in: the filter that nobody has, None where bzip2 is enough."""


@pytest.mark.parametrize("stem", PLUGINS)
def test_files_that_need_a_plug_in(stem: str, shared: Path, tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    path, target = corpus() / f"{stem}.cdl", tmp_path / "t.nc"
    assert run_command("check", str(path)).status == 0
    done = run_command("compile", str(path), "-o", str(target))
    missing = PLUGINS[stem]
    if missing is not None:
        assert (done.status, target.exists()) == (1, False)
        assert "error[unavailable-filter]" in done.err
        assert f"filter {missing}" in done.err
        return
    assert (done.status, done.err) == (0, "")
    checked = phases.read(Source(stem, path.read_bytes()), Report(), Options())
    assert checked is not None
    with netcdf.Dataset(target) as file:
        file.set_auto_maskandscale(False)
        for fqn, variable in checked.variables.items():
            if fqn in checked.parts:
                wanted = checked.parts[fqn][""].read(tuple(slice(0, length) for length in checked.shapes[fqn]))
                assert file[fqn][...].tobytes() == wanted.tobytes(), fqn
            assert file[fqn].filters()["bzip2"] or 307 not in [codec.id for codec in variable.storage.codecs]
