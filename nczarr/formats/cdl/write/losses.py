"""Losses of a dataset in CDL (docs/reference/formats/cdl.md, "What CDL cannot say"), found before writing.

Only losses of single names and values: what the format lacks as a whole is in its
row. Only requested data are examined.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import linear_block, region_of
from nczarr.arrays.sources.bands import Bands
from nczarr.arrays.sources.source import Parts, find_unwritten, little, little_descr, numpy_dtype
from nczarr.arrays.values.parts import Types, descr, parts
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, Dataset, EnumType
from nczarr.ast.dataset import VERSION, groups
from nczarr.diagnostics.report import Span
from nczarr.formats.cdl.write.backend import dataset_name, grown, list_printed, loses_values
from nczarr.formats.cdl.write.declarations import drop_unspellable
from nczarr.options import Options
from nczarr.plan.c_strings import cut_strings
from nczarr.plan.plans import Loss
from nczarr.semantics.checked import Checked

BLOCK = 1 << 16
"""Elements examined at once."""

NAN, UNNAMED = "nan-bits", "unnamed-value"

_BITS = {"f": (0x7FC00000, 0x7F800000, 0x7FFFFFFF, "I"), "d": (0x7FF8 << 48, 0x7FF0 << 48, (1 << 63) - 1, "Q")}
"""By `struct` code: bits of the usual NaN, of infinity, mask of all but the sign, and integer code."""


def in_constant(constant: Constant, types: Types) -> Counter[str]:
    """Count the unspellable values in an attribute."""
    data = constant.data
    if isinstance(data, tuple):
        counts: Counter[str] = Counter()
        for item in data:
            if isinstance(item, Constant):
                counts += in_constant(item, types)
        return counts
    atomic = ATOMIC.get(constant.type)
    if atomic is not None and atomic.is_float:
        return _in_floats(data, constant.count, atomic.code)
    if not can_be_odd(constant.type, types):
        return Counter()
    return count_in_array(np.frombuffer(data, numpy_dtype(descr(constant.type, types))), constant.type, types)


def _in_floats(data: bytes, count: int, code: str) -> Counter[str]:
    """Return the counts of `count_in_array` without NumPy."""
    usual, infinite, unsigned, bits = _BITS[code]
    values = struct.unpack(f"<{count}{bits}", data)
    return +Counter({NAN: sum(value & unsigned > infinite and value != usual for value in values)})


def can_be_odd(type_name: str, types: Types) -> bool:
    """Return whether a fixed-size type contains floats or enums."""
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return any(can_be_odd(field.type, types) for field in declared.fields)
    return isinstance(declared, EnumType) or (declared is None and ATOMIC[type_name].is_float)


def count_in_array(values: NDArray[Any], type_name: str, types: Types) -> Counter[str]:
    """Count the unspellable values in an array of any shape, in the packed dtype of a fixed-size type."""
    declared = types.get(type_name)
    counts: Counter[str] = Counter()
    if isinstance(declared, CompoundType):
        for field in declared.fields:
            counts += count_in_array(values[field.name], field.type, types)
    elif isinstance(declared, EnumType):
        codes = np.array([constant.value for constant in declared.constants], values.dtype)
        counts[UNNAMED] = int(np.count_nonzero(~np.isin(values, codes)))
    elif declared is None and ATOMIC[type_name].is_float:
        usual, _, _, bits = _BITS[ATOMIC[type_name].code]
        nans = np.ascontiguousarray(values[np.isnan(values)])
        counts[NAN] = int(np.count_nonzero(nans.view(bits) != usual))
    return +counts  # without zeros


def count_in_variable(
    sources: Parts, type_name: str, shape: tuple[int, ...], types: Types, fill: Constant | None
) -> Counter[str]:
    """Count the unspellable values in a variable's arrays.

    Unwritten cells count unless they equal the variable's `fill`, which CDL
    prints as `_`.
    """
    counts: Counter[str] = Counter()
    for part in parts(type_name, shape, types):
        source = sources.get(part.path)
        if source is None or not can_be_odd(part.type, types):
            continue
        block = linear_block(source.layout.shape, BLOCK)
        gaps = math.prod(source.layout.shape)
        with closing(Bands(source, BLOCK)) as bands:
            for index in source.list_occupied(block):
                values = little(bands.read(region_of(index, block, source.layout.shape)))
                counts += count_in_array(values, part.type, types)
                gaps -= values.size
        unwritten = find_unwritten(source)
        if gaps and (fill is None or unwritten != fill.data):
            value = np.frombuffer(unwritten, numpy_dtype(little_descr(source.layout.dtype)))
            counts += Counter({code: count * gaps for code, count in count_in_array(value, part.type, types).items()})
    return counts


def losses(checked: Checked, options: Options) -> Iterator[Loss]:
    """Yield everything that the text omits or changes."""
    checked, unspellable = drop_unspellable(checked)
    yield from _list_dataset_losses(checked.dataset, options.text.name)
    yield from unspellable
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes, checked)
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            yield from _attributes(fqn, variable.attributes, checked)
            if variable.storage.element is not None:
                text = f"variable `{fqn}`, that its values are {variable.storage.element}"
                yield Loss("storage", "annotation", fqn, text, variable.span)
    shown = list_printed(checked, options.text)
    for fqn, variable in checked.variables.items():
        if fqn in shown and fqn in checked.parts:
            shape, fill = checked.shapes[fqn], checked.fills[fqn]
            odd = count_in_variable(checked.parts[fqn], variable.type, shape, checked.types, fill)
            yield from _list_odd(f"variable `{fqn}`", fqn, odd, variable.span)
            if not options.text.header_only and loses_values(checked, fqn, checked.parts[fqn]):
                text = f"variable `{fqn}` has unwritten cells without its fill value, too many to print"
                yield Loss("lost-fill", "value", fqn, text, variable.span)
    yield from cut_strings(checked, shown)
    if not (options.text.header_only or options.text.coordinates_only or options.text.variables or options.text.groups):
        yield from _lengths(checked, shown)


def _list_dataset_losses(dataset: Dataset, name: str | None) -> Iterator[Loss]:
    if name is None and dataset_name(dataset.name) != dataset.name:
        text = f"the dataset's name, `{dataset.name}`: characters that CDL does not allow become `_`"
        yield Loss("dataset-name", "annotation", "/", text, dataset.span)
    if dataset.version != VERSION:
        text = f"the version of the data model, {dataset.version}"
        yield Loss("version", "annotation", "/", text, dataset.span)


def _attributes(path: str, attributes: tuple[Attribute, ...], checked: Checked) -> Iterator[Loss]:
    for attribute in attributes:
        odd = in_constant(attribute.value, checked.types)
        if odd:
            yield from _list_odd(f"attribute `{attribute.name}` of `{path}`", path, odd, attribute.span)


def _list_odd(what: str, path: str, odd: Counter[str], span: Span) -> Iterator[Loss]:
    """Yield the losses of unspellable values."""
    if odd[NAN]:
        text = f"{what}, NaNs ({odd[NAN]}) with unusual bits"
        yield Loss("nan-bits", "annotation", path, text, span)
    if odd[UNNAMED]:
        count = f"{odd[UNNAMED]} value{'s' * (odd[UNNAMED] > 1)}"
        text = f"{what} has {count} without an enum constant, which CDL cannot express"
        yield Loss("unnamed-value", "value", path, text, span)


def _lengths(checked: Checked, shown: set[str]) -> Iterator[Loss]:
    """Yield the unlimited dimensions whose length no printed value determines."""
    determined = {reference for fqn in shown for reference in grown(checked, fqn)}
    for fqn, dimension in checked.dimensions.items():
        if not dimension.unlimited or not dimension.size or fqn in determined:
            continue
        text = f"dimension `{fqn}` would have length 0: no variable along it has a value that CDL can express"
        yield Loss("lost-length", "value", fqn, text, dimension.span)
