"""Every target that was written opens, whole: schemas of extreme lengths, empty records and names at their limits."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr import registry
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Kind, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.proof import WHOLE

TARGETS = {
    **{f"{kind}.nc": ("netcdf", kind) for kind in get_args(Kind)},
    **{f"{name}.zarr": (name, None) for name in ("nczarr", "zarr2", "zarr3", "nczarr3", "zarr3-2019")},
    "a.zip": ("zarr3", None),
    "a.ncs": ("ncstream", None),
    "a.cdl": ("cdl", None),
    "a.ncz": ("notation", None),
    "a.ast.json": ("ast", None),
    "icechunk:repo": ("icechunk", None),
}
"""Targets, with their formats and kinds of file."""

STORED = ("nc3", "nc6", "nc5")
"""Kinds whose files have all cells."""

OF_FILES = ("a.json", "a.parq", "a.dmrpp")
"""Targets that refer to a netCDF-4 file."""

SIZES = (0, 1, 2, 7, 255, 256, 2**15, 2**16 + 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1)
NAMES = (
    *("a", "é", "a b", "a.b", "-1", "+a", "0", "@x", "zarr.json", ".zarray", ".specloc", "x" * 250, "é" * 125),
    *(
        "y" * 255,
        "y" * 256,
        "NaN",
        "c",
        "con",
        "a\u202eb",
        "{a}",
        "a,b",
        "(a)",
        "a:b",
        "a;b",
        "a#b",
        "a?b",
        "a%20b",
        "\u0301a",
    ),
)
TYPES = ("byte", "ubyte", "char", "short", "int", "int64", "uint64", "float", "double", "string")


@st.composite
def extremes(draw: st.DrawFn) -> Dataset:
    """A dataset without data."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=6, unique=True))
    sizes = [draw(st.sampled_from(SIZES)) for _ in names[:2]]
    grows = draw(st.booleans())
    dimensions = [Dimension(name=name, size=size) for name, size in zip(names, sizes, strict=False)]
    if grows:
        dimensions[0] = Dimension(name=names[0], size=0, unlimited=True)
    variables = []
    for name in names[2:]:
        own = draw(st.lists(st.sampled_from(range(2)), max_size=3))
        own = own if not grows else sorted(set(own))  # one record dimension, in front
        path = [nczarr.names.join("/", dimensions[each].name) for each in own]
        chunks = None
        if own and draw(st.booleans()):
            chunks = tuple(draw(st.sampled_from((1, 2, 1000))) for _ in own)
        units = Attribute(name=draw(st.sampled_from(NAMES)), value=Constant.text(b"K"))
        variables.append(
            Variable(
                name=name,
                type=draw(st.sampled_from(TYPES)),
                dimensions=tuple(path),
                attributes=(units,) if draw(st.booleans()) else (),
                storage=Storage() if chunks is None else Storage(chunks=chunks),
            )
        )
    return Dataset(name="extreme", dimensions=tuple(dimensions), variables=tuple(variables))


def write(checked: Checked, target: str, form_name: str, kind: Kind | None) -> list[str] | None:
    """Write a target; return what is lost, None for a refusal, which leaves nothing."""
    form = registry.find_format(form_name)
    assert form is not None
    report = Report()
    options = Options.of(kind=kind, allow_loss=frozenset({"all"}))
    done = phases.write(checked, target, form, report, options)
    if done is None or report.errors:
        assert not any("internal" in each.code for each in report.list_sorted())
        assert not Path(target.removeprefix("icechunk:")).exists()
        return None
    left_out = [each.message for each in report.list_sorted() if each.code == "format-conflict"]
    return [*(loss.path for loss in done.losses), *left_out]


@pytest.mark.slow
@settings(
    max_examples=300 if WHOLE else 25,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(extremes())
def test_every_target_that_was_written_opens(dataset: Dataset) -> None:
    checked = check(Unchecked(dataset), Report())
    if checked is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        wanted = None
        for name, (form, kind) in TARGETS.items():
            has_all_cells = kind in STORED or form == "ncstream"
            if has_all_cells and sum(map(math.prod, checked.shapes.values())) > 1 << 16:
                continue
            target = f"icechunk:{folder}/repo" if form == "icechunk" else f"{folder}/{name}"
            lost = write(checked, target, form, kind)
            if lost is None:
                continue
            with nczarr.open(target) as opened:
                assert not [each for each in opened.diagnostics if each.severity == "error"], name
                assert not opened.losses, name
                shapes = {path: tuple(shape) for path, shape in opened.checked.shapes.items()}
            if not lost:
                assert shapes == dict(checked.shapes), name
                wanted = nczarr.digest(target) if wanted is None else wanted
                assert nczarr.digest(target) == wanted, name
            elif form != "netcdf":
                assert len(shapes) == len(checked.shapes), name
        file = f"{folder}/nc4.nc"
        for name in OF_FILES if Path(file).exists() else ():
            try:
                nczarr.convert(file, f"{folder}/{name}")
            except nczarr.CompileError:
                assert not Path(folder, name).exists()
                continue
            assert nczarr.digest(f"{folder}/{name}") == nczarr.digest(file), name
