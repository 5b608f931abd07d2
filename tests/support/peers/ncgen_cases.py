"""Texts of the CDL corpus, and their files made by ncgen."""

from __future__ import annotations

import json
from pathlib import Path

from nczarr.ast import Kind
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.semantics.checked import Checked
from tests.conftest import shared_folder

from .corpus import files

LARGE = ("bigf", "bigr", "tst_http_nc4")
"""Parts of the names of files that declare more than 100 MB."""


def corpus() -> Path:
    folder = shared_folder()
    return folder / "data/netcdf-c/cdl" if folder else Path()


def _cases() -> list[tuple[str, Kind]]:
    """Every file that ncgen accepts, with the smallest kind that it needs, and nc4; of equal texts the first."""
    shared = shared_folder()
    if shared is None:
        return []
    different = {path.name for path in files(shared)}
    found: list[tuple[str, Kind]] = []
    for entry in json.loads((corpus() / "index.json").read_text("utf-8"))["files"]:
        wanted = {entry["kind_needed"], *({"nc4"} & set(entry["kinds_ok"]))} if entry["file"] in different else set()
        found += [(Path(entry["file"]).stem, kind) for kind in ("nc3", "nc6", "nc5", "nc7", "nc4") if kind in wanted]
    return found


CASES = _cases()


def large(case: tuple[str, Kind]) -> bool:
    return any(part in case[0] for part in LARGE)


def compiled(text: bytes, name: str, target: Path, kind: Kind) -> Checked:
    """Our file; a failure of the test if there is an error."""
    report = Report()
    options = Options.of(kind=kind)
    checked = phases.read(Source(name, text), report, options)
    assert checked is not None, [found.message for found in report.list_sorted()]
    form = endpoints.target_format("x.nc", None, report)
    assert form is not None
    assert phases.write(checked, str(target), form, report, options), [found.message for found in report.list_sorted()]
    return checked
