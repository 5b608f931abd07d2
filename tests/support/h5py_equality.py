"""Comparison of the tree and the values of an HDF5 file with those of h5py."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.open import open_source


def listed(value: Any) -> list[Any]:
    """Return values as a list: texts as bytes without padding, NIL as an empty text, NaN as a text."""
    flat = ["" if one is None else one for one in np.asarray(value).reshape(-1).tolist()]
    flat = [one.encode("utf-8", "surrogateescape") if isinstance(one, str) else one for one in flat]
    return [one.rstrip(b"\0") if isinstance(one, bytes) else "NaN" if one != one else one for one in flat]


def compare_attributes(ours: Any, theirs: Any, place: str) -> None:
    """Every attribute that h5py shows is there, without those of scales."""
    shown = set(theirs) - {"CLASS", "NAME"}
    assert set(ours) == shown, place
    for name in shown:
        assert listed(ours[name]) == listed(theirs[name]), (place, name)


def compare_group(h5py: ModuleType, dataset: Any, group: Any, messages: list[str], places: set[str]) -> None:
    """Compare what a group holds, and note its paths; what HDF5 refuses is named with its reason."""
    for name in group:
        place = f"{group.name.rstrip('/')}/{name}"
        try:
            node = group[name]
        except (KeyError, OSError):
            assert any(f"`{place}` cannot be read" in one and "the HDF5 library" in one for one in messages), place
            continue
        places.add(place)
        ours = dataset[place]
        compare_attributes(ours.attributes, node.attrs, place)
        if isinstance(node, h5py.Dataset):
            assert ours.shape == node.shape, place
            assert listed(ours[...]) == listed(node[()]), place
        else:
            compare_group(h5py, dataset, node, messages, places)


def compare(h5py: ModuleType, path: Path) -> None:
    """Tree and values are those of h5py."""
    report, places = Report(limit=100_000), {"/"}
    checked = phases.read(open_source(str(path)), report, Options())
    messages = [one.message for one in report.list_sorted()]
    assert checked is not None, messages
    messages += [one.text for one in checked.omitted]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nczarr.DataWarning)
        dataset = nczarr.open(path)
    with h5py.File(path) as file, dataset:
        compare_attributes(dataset.attributes, file.attrs, "/")
        compare_group(h5py, dataset, file, messages, places)
    assert {*checked.groups, *checked.variables} == places
