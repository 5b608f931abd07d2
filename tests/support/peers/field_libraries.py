"""Libraries of fields that build on Zarr read a store, and the same store converted from Zarr to Zarr.

    python field_libraries.py FOLDER [ARCHIVE…]

Makes stores with anndata, ome-zarr and xarray in both versions of Zarr, unpacks archives of such of anndata, converts
each to the Zarr formats, and prints each result that a library reads otherwise than the original.
"""

from __future__ import annotations

import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anndata
import numpy as np
import pandas as pd
import scipy.sparse
import xarray as xr
import zarr
from anndata.tests.helpers import assert_equal
from ome_zarr.format import FormatV04, FormatV05
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels

import nczarr

TARGETS = ("zarr2", "zarr3", "nczarr", "nczarr3")
VERSIONS: tuple[Any, ...] = (2, 3)

BUT_NCZARR = ("zarr2", "zarr3", "nczarr3")
"""Formats with texts, records and truth values that other readers know."""


class Case(NamedTuple):
    """A store, and how to read it."""

    title: str
    store: Path
    read: Callable[[Path], Any]
    compare: Callable[[Any, Any], None]
    """Raises AssertionError for unequal results."""
    targets: tuple[str, ...] = TARGETS


def same_annotated_data(result: Any, original: Any) -> None:
    assert_equal(result, original, exact=True)


def annotated_data(folder: Path) -> Iterator[Case]:
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b"] * 10, ordered=True),
            "number": np.arange(20),
            "flag": [True, False] * 10,
            "word": ["é", ""] * 10,
        },
        index=[f"cell {number}" for number in range(20)],
    )
    data = anndata.AnnData(
        scipy.sparse.random(20, 7, 0.3, format="csr", dtype="f4", random_state=1),
        obs=obs,
        var=pd.DataFrame(index=[f"gene {number}" for number in range(7)]),
        uns={"nested": {"list": [1, 2], "empty": np.array([], "f8")}, "text": "one", "number": 3.5},
        obsm={"place": np.ones((20, 2)), "table": obs[["number"]]},
        layers={"dense": np.arange(140.0).reshape(20, 7)},
    )
    for version in VERSIONS:
        anndata.settings.zarr_write_format = version
        store = folder / f"anndata{version}.zarr"
        data.write_zarr(store)
        yield Case(f"anndata {version}", store, anndata.read_zarr, same_annotated_data, BUT_NCZARR)


def read_images(store: Path) -> list[tuple[Any, list[Any]]]:
    nodes = list(Reader(parse_url(str(store), mode="r"))())
    assert nodes, "nothing was found"
    return [(node.metadata, [np.asarray(level) for level in node.data]) for node in nodes]


def same_images(result: Any, original: Any) -> None:
    assert len(result) == len(original)
    for (metadata, levels), (own_metadata, own_levels) in zip(result, original, strict=True):
        assert str(metadata) == str(own_metadata)
        for level, own_level in zip(levels, own_levels, strict=True):
            np.testing.assert_array_equal(level, own_level, strict=True)


def images(folder: Path) -> Iterator[Case]:
    data = np.arange(3 * 64 * 64, dtype="u2").reshape(3, 64, 64)
    for form in (FormatV04(), FormatV05()):
        store = folder / f"image{form.version}.zarr"
        group = zarr.open_group(store, mode="w", zarr_format=form.zarr_format)
        write_image(data, group, axes="cyx", fmt=form, storage_options={"chunks": (1, 32, 32)})
        write_labels((data % 5).astype("u1"), group, "cells", axes="cyx", fmt=form)
        yield Case(f"ome-zarr {form.version}", store, read_images, same_images)


def read_dataset(store: Path) -> xr.Dataset:
    dataset = xr.open_zarr(store, consolidated=False).load()
    for owner in (dataset, *dataset.variables.values()):
        owner.attrs = {name: value for name, value in owner.attrs.items() if not name.startswith("_nczarr")}
    return dataset


def same_datasets(result: xr.Dataset, original: xr.Dataset) -> None:
    xr.testing.assert_identical(result, original)


def datasets(folder: Path) -> Iterator[Case]:
    attributes = {
        "list": ["one"],
        "flags": [True, False],
        "nothing": None,
        "nested": {"a": [1, [2.5, "x"]]},
        "empty": [],
    }
    data = xr.Dataset(
        {
            "t": (("time", "x"), np.arange(12, dtype="f4").reshape(4, 3), attributes),
            "word": ("x", ["é", "", "three"]),
            "scalar": 3.5,
        },
        {"time": pd.date_range("2000-01-01", periods=4), "x": [1, 2, 3]},
        attributes,
    )
    for version in VERSIONS:
        store = folder / f"xarray{version}.zarr"
        data.to_zarr(store, zarr_format=version, consolidated=False)
        yield Case(f"xarray {version}", store, read_dataset, same_datasets, BUT_NCZARR)


def unpack(archive: Path, folder: Path) -> Path:
    store = folder / archive.stem
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(store)
    [root] = {
        found.parent for name in (".zgroup", "zarr.json") for found in [*store.glob(name), *store.glob(f"*/{name}")][:1]
    }
    return root


def main(folder: Path, given: list[Path]) -> None:
    cases: list[Case] = [*annotated_data(folder), *images(folder), *datasets(folder)]
    for archive in given:
        store = unpack(archive, folder)
        cases.append(Case(archive.name, store, anndata.read_zarr, same_annotated_data, BUT_NCZARR))
    for case in cases:
        for form in case.targets:
            target = folder / f"{case.title}-{form}.zarr"
            try:
                nczarr.convert(case.store, target, form)
                case.compare(case.read(target), case.read(case.store))
            except Exception:  # each result is reported
                print(f"{case.title} as {form}: {traceback.format_exc()}")
    print(f"{sum(len(case.targets) for case in cases)} results")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
