"""Writes the values of variables to a netCDF-4 file, in bounded slabs, only where needed.

The library fills unwritten cells with `_FillValue`, else the type's default; in
no-fill mode it shows zeros. Cells that differ from these in the
source are written.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from nczarr import names
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import Index, Selection, every_block, lengths_of, linear_block, number_of_first, region_of
from nczarr.arrays.sources.source import ArraySource, Parts, fill_of, find_unwritten, little_descr
from nczarr.arrays.values.elements import in_order
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast import Constant, Variable, VlenType
from nczarr.formats.netcdf4.c_values import CValues, StructReader, c_dtype, constant_values, recast, texts
from nczarr.formats.netcdf4.define import Ids, chunk_lengths, grows
from nczarr.formats.netcdf4.fill_values import is_large, library_fill, own_fill
from nczarr.formats.netcdf4.header.dataset_info import DatasetInfo
from nczarr.formats.netcdf4.library import Library, sizes
from nczarr.formats.netcdf4.write_chunks import ChunkWriter
from nczarr.plan.hdf5_losses import measures
from nczarr.plan.plans import FilePlan
from nczarr.semantics.check_types import library_default
from nczarr.semantics.checked import Checked

SLAB = 8 << 20
"""Bytes of values in memory per call, unless one chunk is larger."""


def write_data(lib: Library, plan: FilePlan, ids: Ids, chunks: ChunkWriter, counts: Counts) -> None:
    """Write all variables with values, then extend unlimited dimensions to their lengths.

    `chunks` takes variables that do not need the library. Writes by the library
    are counted by block.
    """
    checked = plan.checked
    for path in _in_order(plan):
        variable, parts = checked.variables[path], checked.parts.get(path)
        if parts and 0 not in checked.shapes[path]:
            writer, stage = _ValueWriter(lib, path, variable, plan, ids, counts), plan.stages.get((path, ""))
            with nullcontext() if stage is None else stage() as scratch:
                staged = parts if scratch is None else {**parts, "": scratch}
                if not writer.write_chunks(staged, chunks):
                    writer.write(staged)
    for path, dimension in checked.dimensions.items():
        if not grows(dimension):
            continue
        with LOCK:
            length = lib.dimension_length(ids.groups[names.parent(path)], ids.dimensions[path])
        if length < dimension.size:
            _stretch(lib, path, plan, ids)
    chunks.restore_fills(plan)


SMALL = 1 << 20
"""Bytes of a variable up to which the layouts `cloud` and `cmip7` put it before larger ones, near the headers."""


def _in_order(plan: FilePlan) -> list[str]:
    """Return the variables as their values lie in the file."""
    checked = plan.checked
    if plan.options.layout.arrangement is None:
        return list(checked.variables)
    return sorted(
        checked.variables,
        key=lambda path: (
            math.prod(checked.shapes[path]) * c_dtype(checked.variables[path].type, checked.types).itemsize > SMALL
        ),
    )


class _ValueWriter:
    def __init__(self, lib: Library, path: str, variable: Variable, plan: FilePlan, ids: Ids, counts: Counts) -> None:
        """Collect what the writing of one variable needs from the plan and the ids of the open file."""
        checked = plan.checked
        self.lib = lib
        self.counts = counts
        self.group = ids.groups[names.parent(path)]
        self.number = ids.variables[path]
        self.path = path
        self.checked = checked
        self.variable = variable
        self.quantized = plan.storage[path].quantize is not None
        self.type = variable.type
        self.types = checked.types
        self.shape = checked.shapes[path]
        self.dtype = c_dtype(variable.type, checked.types)
        self.chunks = chunk_lengths(path, variable, plan) if variable.dimensions else None

    def write_chunks(self, parts: Parts, chunks: ChunkWriter) -> bool:
        """Write a chunked array without the library; False if that is impossible."""
        if self.chunks is None or self.quantized or not is_fixed(self.type, self.types):
            return False
        source = parts[""]

        def alike(info: DatasetInfo) -> bool:
            if info.dtype is None or info.fill is None or self._without_fill(source):
                return self._fills_alike(source)
            return in_order(info.fill, info.dtype, little_descr(info.dtype)) == find_unwritten(source)

        return chunks.write(self.path, source, alike, library_default(self.type, self.types))

    def write(self, parts: Parts) -> None:
        if self.type == "string" or is_fixed(self.type, self.types):
            self._by_chunks(parts[""])
        else:
            self._in_order(parts)

    def _by_chunks(self, source: ArraySource) -> None:
        """Write an array of one part in blocks of whole chunks, in any order."""
        block = blocks(self.shape, self.chunks, self.dtype.itemsize)
        for index in source.list_occupied(block) if self._fills_alike(source) else every_block(self.shape, block):
            region = region_of(index, block, self.shape)
            values = source.read(region).reshape(-1)
            self.put(region, texts(values) if self.type == "string" else CValues(recast(values, self.dtype)))

    def _fills_alike(self, source: ArraySource) -> bool:
        """Return whether unwritten cells of the file and of the source are equal.

        HDF5 files of other programs may have a zero fill value and no
        `_FillValue`.
        """
        fill = fill_of(source)
        if self._without_fill(source):
            if self.type == "string":  # not written it is NIL in the end
                return fill is None
            return source.undefined or (is_large(self.path, self.checked) and not find_unwritten(source).strip(b"\0"))
        shown = own_fill(self.path, self.checked) or library_fill(self.variable, self.types)
        return fill is not None and fill == shown

    def _without_fill(self, source: ArraySource) -> bool:
        """Return whether the variable is declared in no-fill mode."""
        return self.variable.storage.no_fill and own_fill(self.path, self.checked) is None

    def _in_order(self, parts: Parts) -> None:
        """Write an array of several parts sequentially. Unwritten lists are empty."""
        reader = StructReader(parts, self.type, self.types)
        rows = linear_block(self.shape, max(1, SLAB // (8 * self.dtype.itemsize)))
        indices: Iterable[Index] = every_block(self.shape, rows)
        if isinstance(self.types.get(self.type), VlenType):
            indices = sorted({index for source in reader.own_sources() for index in _outer(source, rows, self.shape)})
        for index in indices:
            region = region_of(index, rows, self.shape)
            reader.go_to(number_of_first(region, self.shape))
            self.put(region, reader.take(math.prod(lengths_of(region))))

    def put(self, region: Selection, values: CValues) -> None:
        start = sizes([part.start for part in region])
        count = sizes(lengths_of(region))
        with LOCK:
            self.lib.do("nc_put_vara", self.group, self.number, start, count, values.address)
        self.counts.add("encode", 1, values.array.nbytes, values.array.nbytes)


def blocks(shape: tuple[int, ...], chunks: tuple[int, ...] | None, itemsize: int) -> tuple[int, ...]:
    """Return the block shape of a call: whole chunks, growing along inner dimensions first."""
    lengths = list(chunks or (1,) * len(shape))
    for axis in range(len(shape) - 1, -1, -1):
        others = math.prod(lengths[:axis] + lengths[axis + 1 :]) * itemsize
        times = max(1, SLAB // max(1, others * lengths[axis]))
        lengths[axis] = max(1, min(shape[axis], lengths[axis] * times))
        if lengths[axis] < shape[axis]:
            break
    return tuple(lengths)


def _outer(source: ArraySource, rows: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[Index]:
    """Yield the blocks of a variable where a part, perhaps with more dimensions, has data."""
    inner = source.layout.shape[len(shape) :]
    for index in source.list_occupied((*rows, *(max(1, length) for length in inner))):
        yield index[: len(shape)]


def _stretch(lib: Library, path: str, plan: FilePlan, ids: Ids) -> None:
    """Extend an unlimited dimension by writing the last element of a variable along it."""
    checked = plan.checked
    for fqn, variable in checked.variables.items():
        shape = checked.shapes[fqn]
        if path not in variable.dimensions or 0 in shape or not measures(fqn, path):
            continue
        last = [length - 1 if ref == path else 0 for ref, length in zip(variable.dimensions, shape, strict=True)]
        region = tuple(slice(index, index + 1) for index in last)
        writer = _ValueWriter(lib, fqn, variable, plan, ids, Counts())
        writer.put(region, _choose_fill_element(checked, fqn, region))
        return


def _choose_fill_element(checked: Checked, fqn: str, region: Selection) -> CValues:
    """Return the element for a region of fill: that of the source, else the fill value."""
    variable = checked.variables[fqn]
    fill, source = checked.fills[fqn], checked.parts.get(fqn, {}).get("")
    if source is not None and is_fixed(variable.type, checked.types):
        fill = Constant(type=variable.type, count=1, data=find_unwritten(source))
    elif variable.storage.no_fill and variable.type != "string":
        fill = None
    if fill is not None:
        return constant_values(fill, checked.types)
    return CValues(np.zeros(1, c_dtype(variable.type, checked.types)))
