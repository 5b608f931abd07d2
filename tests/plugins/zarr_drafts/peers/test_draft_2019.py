"""What we write as `zarr3-2019`, read by a reader made of the draft's own words (draft_reader.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from tests.conftest import ROOT, shared_folder
from tests.support.peers import corpus, draft_reader

SHARED = shared_folder()
FILES = list(corpus.files(SHARED))[::4] if SHARED is not None else []
SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))
OTHERS = ("03-compound-vlen.cdl", "11-levels.cdl", "12-fun-soundings.cdl")
"""Samples of types that the draft has not."""


def plain(values: Any) -> Any:
    """Values without a byte order; texts as their bytes, halves of complex numbers as one."""
    array = np.asarray(values)
    if array.dtype.kind == "S":
        return array.view("u1").reshape(array.shape)
    return array.astype(array.dtype.newbyteorder("="))


def assert_seen(dataset: DatasetHandle, **options: Any) -> int:
    """All variables that the draft has a type for have their values there; gives their number."""
    store = dataset.to_keys("zarr3-2019", **options)
    documents, seen = draft_reader.arrays(store), 0
    by_name = {next((each["name"] for each in item["extensions"]), ""): path for path, item in documents.items()}
    for path in dataset:
        variable = dataset[path]
        name = variable.name
        if name not in by_name or sum(each.rpartition("/")[2] == path.rpartition("/")[2] for each in dataset) > 1:
            continue
        found = draft_reader.read(store, by_name[name], documents[by_name[name]])
        if found is None or found.dtype.kind == "V" or variable.type.startswith("/"):
            continue
        assert found.shape == variable.shape
        assert found.size > 10**6 or plain(found).tobytes() == plain(variable[...]).tobytes(), path
        seen += 1
    return seen


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_samples(sample: Path, order: Any) -> None:
    dataset = nczarr.open(sample)
    seen = assert_seen(dataset, order=order, codecs="gzip:1", separator="/" if order == "F" else ".")
    assert seen > 0 or sample.name in OTHERS


@pytest.mark.sampled(4)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_corpus(path: Path) -> None:
    checked = corpus.checked(path)
    if checked is None:
        pytest.skip("not a dataset: the tests of errors have it")
    assert_seen(DatasetHandle(checked), codecs="zlib:1")
