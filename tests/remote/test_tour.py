"""docs/how-to/tour.md, run from top to bottom with a real S3 server."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.s3 import BUCKET, S3

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

PAGE = ROOT / "docs" / "how-to" / "tour.md"
BLOCK = re.compile(r"^```python no-run\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tour(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]) -> None:
    for name in ("xarray", "zarr", "dask", "netCDF4", "s3fs"):
        peer(name)
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8").replace("s3://bucket/", f"s3://{BUCKET}/"))
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    said: list[str] = []
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", PAGE.name, 0)
        found = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert found.attempted, block
        assert not found.failed, "".join(said)
