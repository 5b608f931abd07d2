"""Memory of a process that opens files one after another: what is kept is bounded, whatever their number."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nczarr
from tests.conftest import ROOT

pytestmark = pytest.mark.long

FIRST, LAST = 1000, 4000

SCHEMA = """netcdf s {
dimensions: time = UNLIMITED ; x = 3 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ;
  float v(time, x) ; v:units = "K" ; v:_DeflateLevel = 1 ; v:_ChunkSizes = 1, 3 ;
data:
  time = 0, 1 ; v = 1, 2, 3, 4, 5, 6 ;
}"""

LOOP = f"""
import json, os, resource, sys
import nczarr

def stands():
    pages = int(open("/proc/self/statm").read().split()[1])
    return [pages * resource.getpagesize(), len(os.listdir("/proc/self/fd"))]

suffix, how = sys.argv[1:]
seen = []
for number in range({LAST}):
    dataset = nczarr.open(f"f{{number}}{{suffix}}")
    if how == "values":
        assert dataset["v"][1].tolist() == [4, 5, 6]
    elif how == "closed":
        with dataset:
            dataset["v"].attributes["units"]
    if number + 1 in ({FIRST}, {LAST}):
        seen.append(stands())
print(json.dumps(seen))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory of a process")
@pytest.mark.parametrize("how", ["opened", "closed", "values"])
@pytest.mark.parametrize("form", ["netcdf3", "netcdf4", "zarr2", "zarr3"])
def test_opening_thousands_of_files_keeps_nothing_of_each(form: str, how: str, tmp_path: Path) -> None:
    """The cache of chunks is full at 32 MiB; the files here fill a third of it, at some 1.5 kB a chunk."""
    suffix = ".nc" if form.startswith("netcdf") else ".zarr"
    first = tmp_path / f"f0{suffix}"
    nczarr.write(nczarr.from_cdl(SCHEMA), first, form, allow_loss="all")
    for number in range(1, LAST):
        made = tmp_path / f"f{number}{suffix}"
        if first.is_dir():
            shutil.copytree(first, made, copy_function=os.link)
        else:
            os.link(first, made)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    ran = subprocess.run(
        [sys.executable, "-c", LOOP, suffix, how],
        cwd=tmp_path, capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    (before, open_before), (after, open_after) = json.loads(ran.stdout)
    a_file = (after - before) / (LAST - FIRST)
    assert a_file <= (4000 if how == "values" else 800), f"{a_file} bytes a file"
    assert max(open_before, open_after) <= 64
