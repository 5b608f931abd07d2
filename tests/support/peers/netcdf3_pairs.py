"""netCDF-3 files of ours beside those of ncgen."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset, Kind
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.registry import find_format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.semantics.classic_layout import CLASSIC_KINDS

from .ncgen_cases import corpus

HUGE = ("ncgen3__big", "bigf3", "bigr3")
"""Parts of the names of files that declare 4 GB."""


def cases() -> Iterator[tuple[str, Kind]]:
    """Every file that ncgen takes for a classic kind, but for those of several gigabytes."""
    if not corpus().name:
        return
    for entry in json.loads((corpus() / "index.json").read_text("utf-8"))["files"]:
        for kind in CLASSIC_KINDS:
            outcome = entry["ncgen"].get(kind, {})
            if outcome.get("exit") == 0 and not outcome.get("no_output"):
                yield Path(entry["file"]).stem, kind


def read(text: bytes, name: str, kind: Kind, report: Report) -> Checked | None:
    return phases.read(Source(name, text), report, Options.of(kind=kind))


def pieces(checked: Checked, kind: Kind) -> Iterator[bytes]:
    """Our file, piece by piece."""
    report, form = Report(), find_format("netcdf3")
    assert form is not None
    made = phases.text(checked, form, report, Options.of(kind=kind))
    assert made is not None, [found.message for found in report.list_sorted()]
    return made


def ours(text: bytes, name: str, kind: Kind) -> bytes:
    report = Report()
    checked = read(text, name, kind, report)
    assert checked is not None, [found.message for found in report.list_sorted()]
    return b"".join(pieces(checked, kind))


def theirs(ncgen: str, source: Path, kind: Kind, target: Path) -> bytes:
    """The file of ncgen."""
    target.unlink(missing_ok=True)
    subprocess.run([ncgen, "-k", kind, "-o", str(target), str(source)], check=True, capture_output=True)
    return target.read_bytes()


Pair = tuple[Dataset, dict[str, Parts]]


def checked_pair(pair: Pair, kind: Kind) -> Checked:
    report = Report()
    dataset = pair[0].model_copy(update={"kind": None})
    checked = check(Unchecked(dataset, parts=pair[1]), report, None, kind)
    assert checked is not None, [found.message for found in report.list_sorted()]
    return checked
