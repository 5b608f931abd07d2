"""Arrays of NCZarr stores whose element type is not netCDF's."""

from __future__ import annotations

import json

import pytest

from nczarr.pipeline.select.indexing import read
from nczarr.stores.memory import MemoryStore
from tests.support.stores import opened


@pytest.mark.parametrize(("dtype", "zero"), [("|b1", 0), ("<c8", (0.0, 0.0)), ("<c16", (0.0, 0.0)), ("<f2", 0.0)])
def test_elements_without_a_fill_value_are_read(dtype: str, zero: object) -> None:
    group = {"zarr_format": 2, "_nczarr_superblock": {"version": "2.0.0"}}
    array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": dtype, "order": "C", "filters": None,
             "compressor": None, "fill_value": None, "_nczarr_array": {"dimrefs": ["/x"]}}  # fmt: skip
    members = {"dims": {"x": 2}, "vars": ["v"], "groups": []}
    store = {".zgroup": {**group, "_nczarr_group": members}, "v/.zarray": array, "v/.zattrs": {}}
    found, said = opened(MemoryStore({key: json.dumps(each).encode() for key, each in store.items()}))
    assert said == []
    assert read(found, "/v", ...).tolist()[0] == zero
