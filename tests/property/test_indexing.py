"""Every index gives what NumPy gives for the same values: shape, values and refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.pipeline.select import reader

VALUES = np.arange(7 * 6 * 5, dtype="f8").reshape(7, 6, 5)
TEXTS = VALUES.astype("U5").astype(object)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> list[nczarr.DatasetHandle]:
    folder = tmp_path_factory.mktemp("indexing")

    def written(name: str, **options: Any) -> nczarr.DatasetHandle:
        builder = nczarr.DatasetBuilder("")
        axes = [builder.dimension("t", 7), builder.dimension("y", 6), builder.dimension("x", 5)]
        builder.variable("v", "double", axes, **options)
        builder.variable("s", "string", axes)
        nczarr.write(builder.finish(data={"/v": VALUES, "/s": TEXTS}), folder / name)
        return nczarr.open(folder / name)

    return [written("a.nc"), written("b.zarr", chunks=(2, 4, 3), codecs=["shuffle", ("deflate", 1)])]


def _items(length: int, rest: tuple[int, ...]) -> st.SearchStrategy[Any]:
    places = st.integers(-length, length - 1)
    edges = st.none() | st.integers(-length - 3, length + 3)
    return st.one_of(
        st.integers(-length - 1, length),
        st.builds(slice, edges, edges, st.sampled_from([None, 1, 2, 3, -1, -2, 9])),
        st.sampled_from([None, ..., True, False, np.array(True), np.array(2), np.int8(1)]),
        st.lists(places, max_size=9),
        st.lists(places, min_size=1, max_size=3).map(lambda each: np.array(each, "i1")[:, None]),
        st.lists(st.booleans(), min_size=length, max_size=length).map(np.array),
        st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).random((length, *rest)) < 0.5),
    )


KEYS = st.one_of(
    st.tuples(_items(7, (6,))),
    st.tuples(_items(7, (6,)), _items(6, (5,))),
    st.tuples(_items(7, (6,)), _items(6, (5,)), _items(5, ())),
    st.tuples(_items(7, (6,)), _items(6, (5,)), _items(6, (5,)), _items(5, ())),
    _items(7, (6, 5)),
)


@pytest.mark.long
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(key=KEYS, largest=st.sampled_from([3, 1 << 22]))
def test_every_index_gives_what_numpy_gives(datasets: list[nczarr.DatasetHandle], key: Any, largest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "LARGEST_SPAN", largest)
        for dataset in datasets:
            for name, values in (("v", VALUES), ("s", TEXTS)):
                try:
                    wanted = values[key]
                except IndexError:
                    with pytest.raises((IndexError, TypeError)):
                        dataset[name][key]
                    continue
                found = dataset[name][key]
                assert np.shape(found) == np.shape(wanted)
                assert np.array_equal(found, wanted)
                if isinstance(found, np.ndarray):
                    found[...] = found.dtype.type()  # it belongs to the caller
