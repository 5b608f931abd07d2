"""Types of netCDF-4 in the types of a classic kind of netCDF file, exactly, or refused by name.

Integers become `short` or `int`, and strings chars with a dimension of their own,
`NAME_strlen`. Values are read in pieces, to find the first one that does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Region, Selection, linear_block, region_of
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Descr, Layout, fill_of, find_unwritten
from nczarr.arrays.values.parts import descr
from nczarr.ast import ATOMIC, Attribute, Constant, Dimension, Group, Kind, Variable
from nczarr.ast.dataset import KIND_NAMES, building, map_groups
from nczarr.ast.plain_json import is_utf8
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.names.records import frozen
from nczarr.options import Options, RunOptions
from nczarr.pipeline.legal_names import rename_illegal
from nczarr.registry import NETCDF_KINDS, Format
from nczarr.semantics import check
from nczarr.semantics.check_types import default_fill
from nczarr.semantics.checked import Checked, Unchecked

NARROWER = {"ubyte": "short", "ushort": "int", "uint": "int", "int64": "int", "uint64": "int"}
"""Classic type of each integer type of netCDF-4."""

FILL, ENCODING = "_FillValue", "_Encoding"

SUFFIX = "_strlen"
"""End of the name of a dimension along the bytes of texts."""

PIECE = 1 << 20
"""Cells that are read at once."""


class _Change(NamedTuple):
    """A variable in its new form."""

    variable: Variable
    arrays: dict[str, ArraySource]
    dimension: Dimension | None = None
    """New dimension along the bytes of its texts."""


class _UnfitError(ValueError):
    """A value that the classic type cannot hold."""


def narrow(
    checked: Checked, kind: Kind | None, report: Report, run: RunOptions, *, like: Checked | None = None
) -> Checked | None:
    """Return a dataset in the types of a classic kind of file; None after an error.

    `kind`: that of the target, None for another format; `like`: a target that is extended, whose dimensions of texts
    are used. Reports unknown-target for another target; format-conflict for each variable and attribute that
    does not fit, as a warning if the options accept that it is left out. Raises OSError.
    """
    if kind is None or kind == "nc4":
        helps = ["add `--kind nc3`, `nc6`, `nc5` or `nc7`"]
        report.error("unknown-target", "`--narrow` is for classic kinds of netCDF file", helps=helps)
        return None
    accepted = run.accepts("format-conflict")
    work = _Narrower(checked, kind, report, accepted=accepted, like=like)
    with building():
        dataset = map_groups(checked.dataset, work.change_group)
    if work.refused and not accepted:
        return None
    narrowed = Unchecked(dataset, parts=work.parts, foreign=dict(checked.foreign), omitted=list(checked.omitted))
    return check(narrowed, report)


def fit(checked: Checked, form: Format, options: Options, report: Report) -> Checked | None:
    """Return a dataset in the names and types of a kind of file, as far as the options ask; None after an error."""
    if options.target.rename_illegal and form.target.kinds:
        checked = rename_illegal(checked, report)
    if not options.target.narrow:
        return checked
    return narrow(checked, options.target.kind if form.target.kinds else None, report, options.run)


class _Narrower:
    """State of one run."""

    def __init__(self, checked: Checked, kind: Kind, report: Report, *, accepted: bool, like: Checked | None) -> None:
        """Prepare for a kind of file; `accepted`: what does not fit may be left out. `like`: types to prefer."""
        self._checked = checked
        self._kind = kind
        self._atomic = NETCDF_KINDS[kind].atomic
        self._report = report
        self._accepted = accepted
        self._like = like
        self.refused = False
        self.parts = {path: dict(arrays) for path, arrays in checked.parts.items()}

    def change_group(self, path: str, group: Group) -> dict[str, Any]:
        """Return the attributes, variables and dimensions of a group in the types of the kind."""
        taken = {dimension.name for dimension in group.dimensions}
        variables: list[Variable] = []
        dimensions = list(group.dimensions)
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            try:
                change = self._change(fqn, variable, path, taken)
            except _UnfitError as fault:
                self._refuse(f"variable `{fqn}`: {fault}", variable)
                self.parts.pop(fqn, None)
                continue
            variables.append(change.variable)
            if change.arrays:
                self.parts[fqn] = change.arrays
            if change.dimension is not None and change.dimension.name not in taken:
                dimensions.append(change.dimension)
                taken.add(change.dimension.name)
        return {
            "attributes": self._narrow_attributes(path, group.attributes),
            "variables": tuple(variables),
            "dimensions": tuple(dimensions),
        }

    def _refuse(self, text: str, node: Variable | Attribute) -> None:
        self.refused = True
        severity = Severity.WARNING if self._accepted else Severity.ERROR
        text = f"{text}; the output format is {KIND_NAMES[self._kind]}"
        if self._accepted:
            text = f"{text}, and it is left out"
        helps = () if self._accepted else ("use --kind nc4, or leave it out with `--allow-loss format-conflict`",)
        self._report.add(Diagnostic("format-conflict", severity, text, Label(node.span), helps=helps))

    # ---- attributes --------------------------------------------------------------------------------------------------

    def _narrow_attributes(self, owner: str, attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        """Return attributes with narrowed values; refuse those that do not fit."""
        narrowed = []
        for attribute in attributes:
            try:
                value = self._constant(attribute.value)
            except _UnfitError as fault:
                self._refuse(f"attribute `{attribute.name}` of `{owner}`: {fault}", attribute)
                continue
            narrowed.append(attribute.model_copy(update={"value": value}))
        return tuple(narrowed)

    def _constant(self, value: Constant, called: str = "value") -> Constant:
        """Return the value of an attribute in a type of the kind; `called` in messages. Raises _UnfitError."""
        if value.type in self._atomic or value.type not in ATOMIC:
            return value
        if value.type == "string":
            if value.count > 1 or None in value.data:
                raise _UnfitError(f"{value.count} strings do not fit one text" if value.count > 1 else "it is NIL")
            return Constant.text(value.data[0] if value.count else b"")  # type: ignore[arg-type]
        target = NARROWER[value.type]
        limits, numbers = np.iinfo(str(descr(target, {}))), value.as_numbers()
        unfit = next((number for number in numbers if not limits.min <= number <= limits.max), None)
        if unfit is not None:
            raise _UnfitError(f"its {called} {unfit} does not fit type {target}")
        return Constant.numbers(target, numbers)

    # ---- variables ---------------------------------------------------------------------------------------------------

    def _change(self, fqn: str, variable: Variable, group: str, taken: set[str]) -> _Change:
        """Return a variable in a type of the kind. Raises _UnfitError, OSError."""
        arrays = self._checked.parts.get(fqn, {})
        if variable.type in self._atomic or variable.type not in ATOMIC:
            attributes = self._narrow_attributes(fqn, variable.attributes)
            return _Change(variable.model_copy(update={"attributes": attributes}), dict(arrays))
        source = arrays.get("")
        if variable.type == "string":
            return self._to_chars(fqn, variable, source, group, taken)
        target = NARROWER[variable.type]
        fill = next((attribute for attribute in variable.attributes if attribute.name == FILL), None)
        mapping = None
        if fill is not None:
            self._constant(fill.value, "`_FillValue`")
        elif not variable.storage.no_fill and ATOMIC[variable.type].size > 1:  # readers mask no default of bytes
            [old], [new] = (default_fill(name, {}).as_numbers() for name in (variable.type, target))
            mapping = int(old), int(new)
        attributes = self._narrow_attributes(fqn, variable.attributes)
        storage = variable.storage.model_copy(update={"element": None})
        changed = variable.model_copy(update={"type": target, "attributes": attributes, "storage": storage})
        if source is None:
            return _Change(changed, {})
        narrowed = NarrowedNumbers(source, descr(target, {}), mapping)
        _check_numbers(narrowed, target)
        return _Change(changed, {"": narrowed})

    def _to_chars(
        self, fqn: str, variable: Variable, source: ArraySource | None, group: str, taken: set[str]
    ) -> _Change:
        """Return a variable of strings as chars. Raises _UnfitError, OSError."""
        fill = next((attribute.value for attribute in variable.attributes if attribute.name == FILL), None)
        if fill is not None and fill.data != (b"",):
            raise _UnfitError("chars have no place for the text of its `_FillValue`")
        longest, is_text = (0, True) if source is None else _measure(source)
        name, length = f"{variable.name}{SUFFIX}", max(1, longest)
        model = None if self._like is None else self._like.variables.get(fqn)
        if model is not None and model.type == "char" and len(model.dimensions) == len(variable.dimensions) + 1:
            name, length = names.last(str(model.dimensions[-1])), self._like.shapes[fqn][-1]  # type: ignore[union-attr]
            if longest > length:
                raise _UnfitError(f"a text has {longest} bytes, but the target has room for {length}")
        elif name in taken:
            name = names.free(name, taken.__contains__)
        attributes = [attribute for attribute in variable.attributes if attribute.name != FILL]
        if is_text and all(attribute.name != ENCODING for attribute in attributes):
            attributes.append(Attribute(name=ENCODING, value=Constant.text(b"utf-8")))
        chunks = variable.storage.chunks
        storage = variable.storage.model_copy(update={"chunks": chunks and (*chunks, length), "element": None})
        changed = variable.model_copy(
            update={
                "type": "char",
                "dimensions": (*variable.dimensions, names.join(group, name)),
                "attributes": self._narrow_attributes(fqn, tuple(attributes)),
                "storage": storage,
            }
        )
        arrays: dict[str, ArraySource] = {} if source is None else {"": TextBytes(source, length)}
        return _Change(changed, arrays, Dimension(name=name, size=length))


def _pieces(source: ArraySource) -> Iterator[tuple[Selection, NDArray[Any]]]:
    """Yield the regions that may be written, with their values. Raises OSError."""
    shape = source.layout.shape
    block = linear_block(shape, PIECE)
    for index in source.list_occupied(block):
        region = region_of(index, block, shape)
        yield region, source.read(region)


def _check_numbers(narrowed: NarrowedNumbers, target: str) -> None:
    """Raise _UnfitError for the first number that the type cannot hold, or that readers would take for missing."""
    written = 0
    for region, values in _pieces(narrowed.source):
        written += values.size
        wrong = narrowed.find_unfit(values)
        if wrong.any():
            first = tuple(int(place[0]) for place in np.nonzero(wrong)) if values.ndim else ()
            index = tuple(part.start + place for part, place in zip(region, first, strict=True))
            where = f" at {list(index)}" if index else ""
            raise _UnfitError(_describe_unfit(int(values[first]), where, target, narrowed))
    if written < math.prod(narrowed.source.layout.shape):
        unwritten = np.frombuffer(find_unwritten(narrowed.source), narrowed.source_dtype)
        if narrowed.find_unfit(unwritten).any():
            raise _UnfitError(_describe_unfit(int(unwritten[0]), " in unwritten cells", target, narrowed))


def _describe_unfit(value: int, where: str, target: str, narrowed: NarrowedNumbers) -> str:
    if narrowed.mapping is not None and value == narrowed.mapping[1]:
        return f"its value {value}{where} stands for missing cells of type {target}"
    return f"its value {value}{where} does not fit type {target}"


def _measure(source: ArraySource) -> tuple[int, bool]:
    """Return the bytes of the longest text, and whether all are UTF-8. Raises _UnfitError, OSError."""
    longest, is_text = len(fill_of(source) or b""), True
    for region, texts in _pieces(source):
        for number, text in enumerate(texts.reshape(-1)):
            if text is None or text.endswith(b"\0"):
                place = np.unravel_index(number, texts.shape) if texts.ndim else ()
                index = [part.start + int(at) for part, at in zip(region, place, strict=True)]
                what = "NIL" if text is None else "a text that ends with NUL"
                raise _UnfitError(f"it has {what}{f' at {index}' if index else ''}, which chars do not keep")
            longest = max(longest, len(text))
            is_text = is_text and (text.isascii() or is_utf8(text))
    return longest, is_text


@frozen
class NarrowedNumbers(DerivedSource):
    """Integers of another array in a narrower type."""

    dtype: Descr
    """Type of the elements."""
    mapping: tuple[int, int] | None
    """Default fill values of the old and the new type, if the array has no fill value of its own."""

    @property
    def source_dtype(self) -> np.dtype[Any]:
        """Type of the other array, little-endian."""
        return np.dtype(str(self.source.layout.dtype)).newbyteorder("<")

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        unwritten = np.frombuffer(find_unwritten(self.source), self.source_dtype)
        fill = None if whole.fill is None or self.find_unfit(unwritten).any() else self._convert(unwritten).tobytes()
        return Layout(self.dtype, whole.shape, tuple(largest(whole.chunks)), (), fill)

    def find_unfit(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where the narrower type cannot hold a value: in the shape of the values."""
        limits = np.iinfo(np.dtype(str(self.dtype)))
        wrong = values > limits.max
        if values.dtype.kind == "i":
            wrong = wrong | (values < limits.min)
        if self.mapping is not None:
            old, new = self.mapping
            wrong = (wrong & (values != old)) | (values == new if values.dtype.kind == "i" else False)
        return np.asarray(wrong)

    def _convert(self, values: NDArray[Any]) -> NDArray[Any]:
        converted = values.astype(np.dtype(str(self.dtype)))
        if self.mapping is not None:
            converted = np.where(values == self.mapping[0], converted.dtype.type(self.mapping[1]), converted)
        return converted

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the narrower type."""
        return self._convert(self.source.read(selection))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Any]:
        """Return the occupied blocks of the other array."""
        return self.source.list_occupied(chunks, region)


@frozen
class TextBytes(DerivedSource):
    """Bytes of texts of another array along one more dimension, padded with NUL."""

    length: int
    """Length of this dimension."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        chunks = (*largest(whole.chunks), self.length)
        return Layout(descr("char", {}), (*whole.shape, self.length), chunks)

    viewed = False  # texts are encoded

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the bytes of a region, in its shape."""
        texts = self.source.read(selection[:-1])
        padded = np.array(texts, f"S{self.length}")
        return padded.reshape(-1).view("S1").reshape(*texts.shape, self.length)[..., selection[-1]]
