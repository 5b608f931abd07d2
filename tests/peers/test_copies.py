"""A netCDF-4 file read and written again is the same file, as the C interface sees both."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr.ast import Kind
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.stores.open import open_source
from tests.support.peers.ncgen_cases import CASES, compiled, corpus, large

FILES = [case for case in CASES if case[1] in ("nc4", "nc7") and not large(case)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("stem", "kind"),
    [
        pytest.param(*case, id="-".join(case), marks=[pytest.mark.slow] if number % 20 else [])
        for number, case in enumerate(FILES)
    ],
)
def test_the_corpus_copied(
    stem: str, kind: Kind, shared: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    first, second = tmp_path / "first.nc", tmp_path / "second.nc"
    compiled((corpus() / f"{stem}.cdl").read_bytes(), stem, first, kind)
    report = Report()
    checked = phases.read(open_source(str(first)), report, Options())
    assert checked is not None, report.list_sorted()
    form = endpoints.target_format("x.nc", None, report)
    assert form is not None
    assert phases.write(checked, str(second), form, report, Options()), report.list_sorted()
    assert report.list_sorted() == []
    command = [sys.executable, str(shared / "tools" / "nc-same"), str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    undefined = {path for path, variable in checked.variables.items() if variable.storage.no_fill}
    assert [line for line in done.stdout.splitlines() if line.split(":")[0] not in undefined] == []
    assert done.returncode in (0, 1), done.stderr
