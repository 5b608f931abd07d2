"""Chunks of a netCDF-4 file as planned: their routes and memory, and the filters that must be available."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.arrays.chunks.route import matches, way
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.execution.counts import Route, Step
from nczarr.arrays.sources.source import Layout, big_descr, itemsize
from nczarr.arrays.values.c_structs import struct
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.define import chunk_lengths
from nczarr.formats.netcdf4.filter_plugins import BUILT_IN, available, is_lent, lend, lendable
from nczarr.formats.netcdf4.library import Library
from nczarr.plan.chunk_lengths import check_chunk
from nczarr.plan.plans import FilePlan


def will_move(path: str, plan: FilePlan) -> bool:
    """Return whether a variable's chunks will be copied, without using its filters."""
    source, layout = plan.checked.parts.get(path, {}).get(""), _layout(path, plan)
    return source is not None and layout is not None and matches(source.stored, layout)


def check_memory(plan: FilePlan, report: Report) -> bool:
    """Report chunks to decode or encode that exceed the run's memory; False if any."""
    before = report.errors
    for path, parts in plan.checked.parts.items():
        source, layout = parts.get(""), _layout(path, plan)
        if source is not None and layout is not None and not matches(source.stored, layout):
            cells = math.prod(layout.chunks)
            if source.stored is not None and source.stored.codecs:
                cells = max(cells, volume(source.stored.chunks))
            check_chunk(plan, path, "", cells * itemsize(layout.dtype), report)
    return report.errors == before


def steps(plan: FilePlan, report: Report) -> Iterator[Step] | None:
    """Return the planned steps by part; None (reported) if a chunk exceeds the run's memory."""
    return _steps(plan) if check_memory(plan, report) else None


def _steps(plan: FilePlan) -> Iterator[Step]:
    """Yield the steps; the library writes chunks not copied or encoded here."""
    checked = plan.checked
    for path, parts in checked.parts.items():
        shape = checked.shapes[path]
        layout = _layout(path, plan)
        for part, source in parts.items():
            route: Route = "encode" if layout is None else way(source, layout)
            lengths = shape if layout is None else layout.chunks
            chunks = 1 if layout is None or 0 in shape else sum(1 for _ in source.occupied(lengths))
            size = math.prod(shape) * itemsize(layout.dtype) if layout is not None else 0
            if 0 not in shape:
                yield Step(path, part, route, chunks, lengths, size)


def _layout(path: str, plan: FilePlan) -> Layout | None:
    """Return the layout of a variable whose chunks are written without the library."""
    checked, storage = plan.checked, plan.storage[path]
    variable = checked.variables[path]
    if storage.quantize is not None or not is_fixed(variable.type, checked.types):
        return None
    lengths = chunk_lengths(path, variable, plan)
    dtype = descr(variable.type, checked.types)
    if lengths is None or struct(variable.type, checked.types).size != itemsize(dtype):
        return None
    if storage.endian == "big" and isinstance(dtype, str):
        dtype = big_descr(dtype)
    return Layout(dtype, checked.shapes[path], lengths, storage.codecs)


def provide(lib: Library, plan: FilePlan, report: Report) -> bool:
    """Make every filter of a dataset declarable, and usable where values are encoded.

    Registers our codecs for HDF5 filters without a plug-in. Unknown filters are
    declared for variables without values, which never call them. Reports
    `unavailable-filter` for each variable that cannot be encoded.
    """
    before = report.errors
    for path, variable in plan.checked.variables.items():
        for codec in plan.storage[path].codecs:
            if codec.id in BUILT_IN or available(lib, codec.id):
                continue
            can = codec.id in lendable() and codecs.expressible([codec])
            if not can and plan.checked.parts.get(path) and not will_move(path, plan):
                name = f" ({codec.name})" if codec.name else ""
                text = f"variable `{path}` has values and needs HDF5 filter {codec.id}{name}, which is not available"
                helps = ["install its plug-in and set HDF5_PLUGIN_PATH, or choose another codec with `--codec`"]
                report.error("unavailable-filter", text, variable.span, helps=helps)
            elif not is_lent(codec.id):
                lend(lib, codec.id)
    return report.errors == before
