"""Declarations of Zarr's conventions, as the validators of these conventions judge them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import nczarr
from tests.conftest import missing_peer
from tests.support.grids import write_grid

pytestmark = [
    pytest.mark.peer,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(sys.version_info < (3, 12), reason="the validators need Python 3.12"),
]


def test_validators_find_nothing(tmp_path: Path) -> None:
    try:
        import geozarr_toolkit
        import zarr_cm
    except ImportError as error:
        missing_peer(error.name or "geozarr-toolkit")
    source = nczarr.from_cdl(write_grid())
    nczarr.convert(source, tmp_path / "g.zarr", format="zarr3", declare="geo", allow_loss="all")
    found = set()
    for path in (tmp_path / "g.zarr").rglob("zarr.json"):
        attributes = json.loads(path.read_text())["attributes"]
        for name in geozarr_toolkit.detect_conventions(attributes):
            found.add(name)
        faults = geozarr_toolkit.validate_attrs(attributes) if "zarr_conventions" in attributes else {}
        assert not any(faults.values()), (path, faults)
        zarr_cm.extract_all(attributes)
    assert found == {"proj", "spatial"}
