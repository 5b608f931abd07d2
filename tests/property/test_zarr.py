"""Generated datasets through zarr-python: what we write reads back bit by bit, sharded and not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan import chunk_lengths
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.registry import find_format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.memory import MemoryStore
from tests.support.library import library
from tests.support.peers.compare import same
from tests.support.peers.expected import expected
from tests.support.proof import share
from tests.support.stores import opened, other_values, rebuild
from tests.support.targets import content

zarr = library("zarr", reason="peer zarr is not installed")
pytestmark = pytest.mark.peer

relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def written(dataset: Checked, form: str, options: Options) -> dict[str, bytes]:
    """Every key of the store; chunks and shards of our own choice are tiny."""
    report = Report()
    with patch.object(chunk_lengths, "CHUNK_BYTES", 24), patch.object(chunk_lengths, "SHARD_BYTES", 200):
        found = content(dataset, find_format(form), report, options)  # type: ignore[arg-type]
    assert found is not None, [each.message for each in report.list_sorted()]
    return dict(found)


def arrays(content: dict[str, bytes]) -> dict[str, Any]:
    """Every array as zarr-python reads it, by its path."""
    from zarr.core.buffer import cpu
    from zarr.storage import MemoryStore as TheirStore

    store = TheirStore({key: cpu.Buffer.from_bytes(data) for key, data in content.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(store, mode="r", use_consolidated=False)
        found = dict(group.members(max_depth=None))
        return {path: item[...] for path, item in found.items() if isinstance(item, zarr.Array)}


def wrong(dataset: Checked, seen: dict[str, Any]) -> Iterator[str]:
    """Parts whose values zarr-python does not see; it takes a backslash in a name for a slash."""
    for key, one in expected(dataset).items():
        for part, values in one.values.items():
            path = f"{key}/{part}" if part else key
            if "\\" in path:
                continue
            if path not in seen:
                yield f"{path} is missing"
                continue
            array = np.asarray(seen[path])
            if not values.shape and array.shape == (1,):  # a scalar of `nczarr`
                array = array.reshape(())
            shown = array.astype(object) if array.dtype.kind == "T" else array
            if not same(shown, values):
                yield f"{path}: {shown!r} instead of {values!r}"


CODECS = st.sampled_from([{}, {"": "gzip:1"}, {"": "shuffle+zlib:1"}, {"": "zstd:1+crc32c"}, {"": "blosc:lz4:5"}])
OPTIONS = st.builds(
    lambda codecs, shards, consolidated: Options.of(
        codecs=codecs, shards={"": shards}, consolidated=consolidated, allow_loss=frozenset({"all"})
    ),
    CODECS,
    st.sampled_from(["auto", "none"]),
    st.booleans(),
)
FORMS = st.sampled_from(["zarr3", "nczarr3", "zarr2", "nczarr"])


@pytest.mark.slow
@given(datasets_with_data(), FORMS, OPTIONS)
@settings(relaxed, max_examples=share(500))
def test_zarr_reads_what_we_write(generated: tuple[Dataset, dict[str, Parts]], form: str, options: Options) -> None:
    dataset, parts = generated
    checked = check(Unchecked(dataset, parts=parts), Report())
    assert checked is not None
    if not form.endswith("3"):
        options = options.change(
            shards={}, codecs={name: text.split("+")[0] for name, text in options.layout.codecs.items()}
        )
    found = written(checked, form, options)
    assert list(wrong(checked, arrays(found))) == []
    if form.startswith("nczarr") and not options.layout.codecs:
        assert rebuild(found) == checked.dataset
    seen, _ = opened(MemoryStore(found))
    assert list(other_values(checked, seen, "''" if form.startswith("zarr") else "None")) == []
