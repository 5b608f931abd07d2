"""The corpus of CDL files as checked datasets, and where other programs see them otherwise, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.frontend import read
from nczarr.semantics import check
from nczarr.semantics.checked import Checked

NO_TEXT = "no JSON text holds these bytes: the readable part is shown, the extension has all"
UNDEFINED = "_NoFill: what ncgen leaves in unwritten cells is undefined"
DATES = "dates as `ncdump -t` prints them: ncgen takes the year for the value"
NUL = "a single-quoted NUL: ncgen takes it for the character 0"

EXCUSED = {
    ("ncdump__cdl__ref_tst_nul3", "ncgen /:global: char"): NO_TEXT,
    ("ncdump__tst_ncml", "ncgen /:gnul: char"): NO_TEXT,
    ("ncdump__ref_nc_test_netcdf4", "ncgen /:Gc: char"): NO_TEXT,
    ("ncdump__ref_nc_test_netcdf4", "ncgen / d:c: char"): NO_TEXT,
    ("ncdump__cdl__ref_tst_special_atts", "ncgen / var4: values"): UNDEFINED,
    ("ncdump__cdl__ref_tst_special_atts3", "ncgen / var4: values"): UNDEFINED,
    ("ncdump__ref_tst_special_atts", "ncgen / var4: values"): UNDEFINED,
    ("ncdump__ref_tst_ncf213", "ncgen / var4: values"): UNDEFINED,
    ("ncdump__ref_test_360_day_1900", "ncgen / time: values"): DATES,
    ("ncdump__ref_test_365_day_1900", "ncgen / time: values"): DATES,
    ("ncdump__ref_test_366_day_1900", "ncgen / time: values"): DATES,
    ("ncdump__ref_times", "ncgen / "): DATES,
    ("ncgen__ncf345", "ncgen / char_var_nul: values"): NUL,
    ("ncgen__ncf345", "ncgen / bnd_var:byte_att: byte"): NUL,
    ("nczarr_test__ref_nulls", "ncgen / test:nul_sng: byte"): NUL,
    ("nczarr_test__ref_nulls", "ncgen / test:nul0: byte"): NUL,
}
"""By file and beginning: differences from ncgen's file that are right as they are, with the reason."""


def files(shared: Path) -> Iterator[Path]:
    """Every CDL file of the corpus, without those with the same text as one before."""
    known: set[bytes] = set()
    for path in sorted((shared / "data/netcdf-c/cdl").glob("*.cdl")):
        if not path.name.endswith(".dump.cdl") and (text := path.read_bytes()) not in known:
            known.add(text)
            yield path


def small(paths: Iterable[Path]) -> list[Path]:
    """Return paths without files of gigabytes that stand in the corpus with short dimensions as well."""
    return [path for path in paths if "ncgen3__big" not in path.name]


def cases(paths: Iterable[Path]) -> list[Any]:
    """Return paths as cases with the names of the files; those that declare gigabytes are slow."""
    return [pytest.param(path, id=path.stem, marks=pytest.mark.slow if "big" in path.name else ()) for path in paths]


def checked(path: Path) -> Checked | None:
    """The dataset of a CDL file, None if it is in error."""
    report = Report()
    unchecked = read(Source(path.name, path.read_bytes()), report)
    return None if unchecked is None else check(unchecked, report)


def unexcused(path: Path, differences: list[str]) -> list[str]:
    """Differences without an excuse."""
    starts = tuple(start for stem, start in EXCUSED if stem == path.stem)
    return [text for text in differences if not text.startswith(starts)]
