"""One dataset through every reader: what is equal, hidden or unknown, and what is wrong.

`survey` is the work of the peer tests and of `docs/reference/compatibility.md`; see `docs/_tools/compatibility.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nczarr.ast import Constant
from nczarr.ast.dataset import groups
from nczarr.ast.plain_json import is_finite
from nczarr.diagnostics.report import Report
from nczarr.names import split
from nczarr.options import Options
from nczarr.plan.keys import name_axes
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from tests.support.targets import store

from . import compare
from .expected import Expected, expected
from .worker import Worker

FORMATS = ("nczarr", "zarr2", "nczarr3", "zarr3")
STORES = tuple((form, suffix) for form in FORMATS for suffix in (".zarr", ".zip"))
"""Every format as a folder and as an archive."""

TENSORSTORE_LACKS = ("filters", '"id"', '"codecs"', "not unique")
"""What its refusals say of numbers: filters or codecs that it has not, two axes of one name in Zarr v3."""


@dataclass
class Outcome:
    """Counts by (reader, format, type): `equal`, `hidden` or `unknown`; and all differences."""

    counts: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    files: int = 0

    def count(self, reader: str, form: str, type_name: str, what: str) -> None:
        key = (reader, form, type_name, what)
        self.counts[key] = self.counts.get(key, 0) + 1


TYPED = ("nczarr", "nczarr3")
"""Formats that state the types of attributes."""


def survey(
    checked: Checked,
    folder: Path,
    workers: dict[str, Worker],
    cdl: Path | None = None,
    stores: Iterable[tuple[str, str]] = STORES,
    shards: str = "none",
) -> Outcome:
    """Write the dataset in each format and as folder or archive, and let every reader look.

    With `cdl`, libnetcdf's view of the store is also held against its view of the file that ncgen makes.
    """
    outcome = Outcome()
    wanted = expected(checked)
    for fqn in name_axes(checked)[1]:  # two lengths of one name in one group: one of them gets another name
        wanted["/".join(split(fqn))].renamed = True
    for form, suffix in stores:
        path = folder / f"{form}{suffix}"
        report = Report()
        options = Options.of(allow_loss=frozenset({"all"}), shards={"": shards})
        written = store(checked, str(path), find_format(form), report, options)  # type: ignore[arg-type]
        if not written:
            outcome.differences.append(f"{form}: not written: {[found.message for found in report.list_sorted()]}")
            continue
        counts = outcome if suffix != ".zip" else Outcome()
        seen = workers["zarr"].ask(str(path))
        outcome.differences += [f"{path.name}: {text}" for text in _through_zarr(seen, wanted, form, counts)]
        if "error" not in seen:
            outcome.differences += [
                f"{path.name}: {text}" for text in _attributes_of_groups(seen["groups"], checked, form)
            ]
        if (form, suffix) == ("nczarr", ".zarr"):
            seen = workers["netcdf"].ask(str(path))
            outcome.differences += _through_netcdf(seen, wanted, checked, outcome)
            file = ncgen(cdl, folder) if cdl is not None else None
            if file is not None and "groups" in seen:
                outcome.files += 1
                made = workers["netcdf"].ask(str(file))
                outcome.differences += compare.datasets(seen["groups"], made["groups"])
    return outcome


def _attributes_of_groups(seen: dict[str, Any], checked: Checked, form: str) -> Iterator[str]:
    for fqn, group in groups(checked.dataset):
        path = "".join(f"{name}/" for name in split(fqn))
        for text in compare.plain_attributes(seen.get(path, {}), group.attributes, typed=form in TYPED, fills=True):
            yield f"group {path}: {text}"


def _through_netcdf(
    seen: dict[str, Any], wanted: dict[str, Expected], checked: Checked, outcome: Outcome
) -> Iterator[str]:
    if "error" in seen:
        yield f"netcdf: {seen['error']}"
        return
    for fqn, group in groups(checked.dataset):
        path = "/" + "/".join(split(fqn))
        found = seen["groups"].get(path)
        if found is None:
            yield f"netcdf: group {path} is missing"
            continue
        dimensions = {item.name: (item.size, item.unlimited) for item in group.dimensions}
        shown = {
            name: item
            for name, item in found["dimensions"].items()
            if name in dimensions or not name.startswith("_Anonymous_Dim_")
        }
        if shown != dimensions:
            yield f"netcdf: dimensions of {path}: {shown} instead of {dimensions}"
        yield from compare.attributes(found["attributes"], group.attributes, f"netcdf {path}")
        for variable in group.variables:
            key = "/".join((*split(fqn), variable.name))
            one, other = wanted[key], found["variables"].get(variable.name)
            if one.type in ("opaque", "compound", "vlen") or (one.type == "string" and other is None):
                outcome.count("libnetcdf", "nczarr", one.type, "hidden")
                if other is not None:
                    yield f"netcdf: {key} of type {one.type} is not hidden"
            elif other is None:
                yield f"netcdf: {key} is missing"
            else:
                outcome.count("libnetcdf", "nczarr", one.type, "equal")
                yield from compare.netcdf_variable(other, one, f"netcdf {key}")


def _through_zarr(seen: dict[str, Any], wanted: dict[str, Expected], form: str, outcome: Outcome) -> Iterator[str]:
    if "error" in seen:
        yield f"zarr: {seen['error']}"
        return
    yield from (f"xarray: {name}: {text}" for name, text in seen["xarray"].items() if name.startswith("error"))
    for key, one in wanted.items():
        for part, values in one.values.items():
            name = f"{key}/{part}" if part else key
            if form == "nczarr" and not part and not one.shape:
                values = values.reshape(1)  # a scalar
            reader = "zarr-python", "xarray", "tensorstore"
            kind = one.type if not part else f"{one.type} (parts)"
            found = seen["zarr"].get(name), seen["xarray"].get(name), seen["tensorstore"].get(name)
            for who, other in zip(reader, found, strict=True):
                if other is None:
                    yield f"{who}: {name} is missing"
                    continue
                what, text = _judge(who, other, one, part, values)
                if who == "tensorstore" and "valid JSON" in text and not all(map(is_finite, _constants(one))):
                    what, text = "unknown", ""  # NaN is a word there, as in zarr-python's own documents
                outcome.count(who, form, kind, what)
                if text:
                    yield f"{who}: {name}: {text}"
                if who != "tensorstore" and not part:
                    unlike = compare.plain_attributes(other["attributes"], one.attributes, typed=form in TYPED)
                    yield from (f"{who}: {name}: {text}" for text in unlike)
            if not part and found[1] is not None:
                yield from (f"xarray: {name}: {text}" for text in compare.masks(found[1]["attributes"], one))


def _constants(one: Expected) -> Iterator[Constant]:
    return (attribute.value for attribute in one.attributes)


def _judge(who: str, other: Any, one: Expected, part: str, values: Any) -> tuple[str, str]:
    if who == "tensorstore":
        if isinstance(other, dict):
            lacks = TENSORSTORE_LACKS if values.dtype.kind in "iuf" else (*TENSORSTORE_LACKS, "data_type", '"field"')
            known = values.dtype.kind not in "OV" and not any(phrase in other["error"] for phrase in lacks)
            return "unknown", other["error"] if known else ""
        if (
            values.dtype.kind in "SVO" and not other.dtype.names
        ):  # bytes: numpy gets an array of the right shape and no content
            fits = other.shape[:-1] == values.shape or other.shape == values.shape
            return "shape only", "" if fits else f"shape {other.shape} instead of {values.shape}"
        return "equal", "" if compare.same(other, values) else f"{other!r:.200} instead of {values!r:.200}"
    if not compare.same(other["values"], values):
        return "wrong", f"{other['values']!r:.300} instead of {values!r:.300}"
    if not part and one.shape and not one.renamed and not compare.dimension_names(other["dimensions"], one.dimensions):
        return "equal", f"dimensions {other['dimensions']} instead of {one.dimensions}"
    return "equal", ""


def ncgen(cdl: Path, folder: Path) -> Path | None:
    """The netCDF-4 file that ncgen makes of a CDL text; None if it cannot."""
    if shutil.which("ncgen") is None:
        return None
    target = folder / "peer.nc"
    # netCDF4-python names its own plug-ins to all of the process; ncgen's HDF5 is another.
    plain = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    done = subprocess.run(["ncgen", "-4", "-o", str(target), str(cdl)], capture_output=True, check=False, env=plain)
    return target if done.returncode == 0 else None
