"""Every corpus file that compiles, through each text form and back, and what we print through ncgen."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.ast_json import backend as json_backend
from nczarr.formats.ast_json import frontend as json_frontend
from nczarr.formats.cdl.read import frontend as cdl_frontend
from nczarr.formats.cdl.write import backend as cdl_backend
from nczarr.formats.notation import backend, frontend
from nczarr.options import Options
from nczarr.plugins.testing.arrays import differences
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked


def checked(unchecked: Unchecked | None, report: Report) -> Checked | None:
    return None if unchecked is None else check(unchecked, report)


def read_cdl(data: bytes) -> Checked | None:
    report = Report()
    return checked(cdl_frontend.read(Source("t.cdl", data), report), report)


def corpus(shared: Path) -> Iterator[tuple[str, Checked]]:
    for path in sorted((shared / "data" / "netcdf-c" / "cdl").glob("*.cdl")):
        tree = read_cdl(path.read_bytes())
        if tree is not None:
            yield path.name, tree


def printed(tree: Checked, options: Options) -> bytes:
    return "".join(cdl_backend.pieces(tree, options.text)).encode("utf-8", "surrogateescape")


@pytest.mark.slow
def test_every_text_form_reads_back_equal(shared: Path) -> None:
    count = 0
    for name, tree in corpus(shared):
        again = read_cdl(printed(tree, Options.of(special=True)))
        assert again is not None, name
        assert again.dataset == tree.dataset, name
        for fqn, arrays in tree.parts.items():
            if 0 not in tree.shapes[fqn]:
                assert differences(arrays, again.parts[fqn]) == [], (name, fqn)
        report = Report()
        text = backend.text(tree.dataset).encode("utf-8")
        from_notation = checked(frontend.read(Source("t.ncz", text), report), report)
        assert from_notation is not None, (name, report.list_sorted())
        assert from_notation.dataset == tree.dataset, name
        document = json_backend.text(tree.dataset).encode("utf-8")
        unchecked = json_frontend.read(Source("t.ast.json", document), report)
        assert unchecked is not None, name
        assert unchecked.dataset == tree.dataset, name
        count += 1
    assert count > 300


@pytest.mark.slow
@pytest.mark.peer
def test_ncgen_accepts_what_we_print(shared: Path, tool: Callable[[str], str], tmp_path: Path) -> None:
    """Of files that ncgen accepts itself; it looks for an enum constant in the first enum that has one of that name."""
    ncgen, made = tool("ncgen"), tmp_path / "made.nc"
    refused = []
    for name, tree in corpus(shared):
        source = shared / "data" / "netcdf-c" / "cdl" / name
        if name.endswith(".dump.cdl") or not accepts(ncgen, source, made):
            continue
        text = tmp_path / "printed.cdl"
        text.write_bytes(printed(tree, Options()))
        if not accepts(ncgen, text, made):
            refused.append(name)
    assert refused == []


def accepts(ncgen: str, source: Path, made: Path) -> bool:
    try:
        done = subprocess.run([ncgen, "-4", "-o", str(made), str(source)], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return False  # files that declare gigabytes of fill
    made.unlink(missing_ok=True)
    return done.returncode == 0
