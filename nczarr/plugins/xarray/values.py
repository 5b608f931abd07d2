"""Types and values of a dataset as xarray's netCDF4 engine shows them, and the datasets that lazy arrays read."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np
import xarray
from numpy.typing import NDArray
from xarray.coding.strings import create_vlen_dtype

from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.elements import NAT, as_stored, find_stored_dtype, is_text, is_time, suits, time_attributes
from nczarr.arrays.values.parts import NUMPY, Types, descr, is_fixed
from nczarr.ast import Attribute, CompoundType, Constant, EnumType, Variable, VlenType
from nczarr.ast.dataset import Element
from nczarr.diagnostics.report import DataWarning
from nczarr.pipeline.select.reader import dtype_of, value_of, values_of
from nczarr.plan.keys import name_axes
from nczarr.stores.ranges import BoundedCache

if TYPE_CHECKING:
    from nczarr.api.node_handles import GroupHandle


_OURS = tuple(f"{folder}{os.sep}" for folder in (Path(__file__).parents[2], Path(xarray.__file__).parent))
"""Folders of code that is not the user's."""


def warn(message: str) -> None:
    """Warn at the line of the user's program that opened the dataset."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DataWarning, stacklevel=level)


Convert = Callable[[NDArray[Any]], NDArray[Any]]
"""Function from values as `nczarr.pipeline.select` reads them to those that xarray gets, in the same shape."""

FILL = "_FillValue"
_TEXT: np.dtype[Any] = create_vlen_dtype(str)  # type: ignore[no-untyped-call]


class Presentation(NamedTuple):
    """The form of a variable's values in xarray."""

    dtype: np.dtype[Any]
    """Dtype of the lazy array."""
    encoded: Any
    """Member `dtype` of the encoding: the stored type, with its byte order."""
    convert: Convert | None
    """Conversion of values that were read; None for none."""


def presentation(variable: Variable, types: Types) -> Presentation | None:
    """Return the form of a variable's values; None for lists of strings and of lists, which xarray refuses.

    Strings are `str` in object arrays (NIL is empty), enums their integers, with
    the names in the metadata of the encoded dtype, compounds aligned records,
    lists arrays in object arrays, opaque values `V`. Booleans, halves and complex
    numbers of stores have their own dtypes.
    """
    kind, declared, element = variable.type, types.get(variable.type), variable.storage.element
    if element is not None and suits(element, kind, types):
        return _element_presentation(element)
    if kind == "string":
        return Presentation(_TEXT, str, _without_nil)
    if isinstance(declared, EnumType):
        dtype = np.dtype(NUMPY[declared.base])
        constants = {member.name: member.value for member in declared.constants}
        metadata = {"enum": constants, "enum_name": declared.name}
        return Presentation(dtype, np.dtype(_order_bytes(dtype, variable), metadata=metadata), None)
    if isinstance(declared, CompoundType) and is_fixed(kind, types):
        dtype = align_dtype(kind, types)
        return Presentation(dtype, dtype, lambda values: values.astype(dtype))
    if isinstance(declared, VlenType):
        if not is_fixed(declared.base, types):
            return None
        dtype = align_dtype(declared.base, types)
        return Presentation(dtype, dtype, _lists(dtype) if dtype.names else None)
    dtype = dtype_of(kind, types)
    return Presentation(dtype, _order_bytes(dtype, variable), None)


def _element_presentation(element: Element) -> Presentation:
    """Return the form of a store's elements that the model lacks: their dtype in the store."""
    stored = find_stored_dtype(element)
    dtype = numpy_dtype(stored)
    if is_text(element):
        return Presentation(dtype, dtype, _texts(dtype))
    return Presentation(dtype, dtype, lambda values: as_stored(values, stored).view(dtype))


def align_dtype(type_name: str, types: Types) -> np.dtype[Any]:
    """Return the dtype of a fixed-size type with the alignment of C, as netCDF4-python has it."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return numpy_dtype(descr(type_name, types))
    return np.dtype(
        [(field.name, align_dtype(field.type, types), field.shape) for field in declared.fields], align=True
    )


def _order_bytes(dtype: np.dtype[Any], variable: Variable) -> np.dtype[Any]:
    return dtype.newbyteorder(">") if variable.storage.endian == "big" else dtype


def native(values: NDArray[Any]) -> NDArray[Any]:
    """Return little-endian values in the byte order of the machine, without a copy on most."""
    if values.dtype.byteorder != "<":
        return values
    dtype = values.dtype.newbyteorder("=")
    return values.view(dtype) if values.dtype == dtype else values.astype(dtype)


def _without_nil(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts with empty ones instead of None."""
    nil = np.equal(values, None)  # type: ignore[call-overload]
    if nil.any():
        values[nil] = ""
    return values


def _texts(dtype: np.dtype[Any]) -> Convert:
    """Return a conversion of objects (str or None) to a dtype of fixed length, `S` or `U`."""

    def convert(values: NDArray[Any]) -> NDArray[Any]:
        texts = [text or "" for text in values.reshape(-1).tolist()]
        encoded_texts = [text.encode("utf-8", "surrogateescape") for text in texts] if dtype.kind == "S" else texts
        return np.array(encoded_texts, dtype).reshape(values.shape)

    return convert


def _lists(dtype: np.dtype[Any]) -> Convert:
    """Return a conversion of ragged lists to a dtype of their elements."""

    def convert(values: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(values.size, object)
        for place, row in enumerate(values.flat):
            out[place] = row.astype(dtype)
        return out.reshape(values.shape)

    return convert


def pop_fill(by_name: dict[str, Any], presentation: Presentation, variable: Variable, types: Types) -> dict[str, Any]:
    """Return the member `_FillValue` of an encoding, and change a variable's attributes so that xarray can decode them.

    xarray masks no records, lists or opaque values: their fill value moves to the
    encoding. That of a store's element gets its dtype, that of chars is
    `numpy.bytes_`, and the attributes that describe a store's times are left out.
    """
    element = variable.storage.element
    if element is not None and is_time(element) and suits(element, variable.type, types):
        for name, value in {**time_attributes(find_stored_dtype(element)), FILL: NAT}.items():
            if name in by_name and np.ndim(by_name[name]) == 0 and by_name[name] == value:
                del by_name[name]
    if FILL not in by_name:
        return {}
    if element is not None and presentation.convert is not None:
        value = np.array([by_name[FILL]], object) if is_text(element) else np.atleast_1d(by_name[FILL])
        by_name[FILL] = presentation.convert(value)[0]
    if variable.type == "char" and isinstance(by_name[FILL], bytes):
        by_name[FILL] = np.bytes_(by_name[FILL])
    declared = types.get(variable.type)
    return {FILL: by_name.pop(FILL)} if presentation.dtype.kind == "V" or isinstance(declared, VlenType) else {}


def attribute(constant: Constant, types: Types) -> Any:
    """Return an attribute's value as netCDF4-python has it: a text, a list of texts, a scalar or an array.

    Texts lose NUL characters; invalid UTF-8 becomes U+FFFD.
    """
    data = constant.data
    if constant.type == "char":
        assert isinstance(data, bytes)
        return _text(data)
    if constant.type == "string":
        texts = [_text(text) if isinstance(text, bytes) else "" for text in data]
        return texts[0] if len(texts) == 1 else texts
    return value_of(constant, types)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "")


MOST = 16
"""Datasets that a process keeps open for arrays that it has unpickled."""

_lock = Lock()
_known: WeakValueDictionary[str, OpenedDataset] = WeakValueDictionary()
"""All datasets of the process by token."""

_kept: BoundedCache[str, OpenedDataset] = BoundedCache(MOST)
"""The last datasets that were unpickled, by token: between two tasks, no array may refer to one."""


class OpenedDataset:
    """An open dataset that pickles as the call that opens it again."""

    __slots__ = ("__weakref__", "_axes", "_forms", "_open", "_shared", "_token", "encodings", "handle")

    def __init__(self, handle: GroupHandle, open_again: Callable[[], GroupHandle] | None = None) -> None:
        self.handle = handle
        self._shared: dict[int, Any] = {}
        self.encodings: dict[tuple[object, ...], dict[str, Any]] = {}
        """Encodings by the `id` of storage and form, axes, shape, lengths of keys and source: saves 3 µs a variable."""
        self._open = open_again
        self._token = ""
        self._forms: dict[tuple[str, Element | None, str | None], Presentation | None] = {}
        self._axes: tuple[dict[str, tuple[str, ...]], dict[str, str]] | None = None

    def form(self, variable: Variable) -> Presentation | None:
        """Return the form of a variable's values, as `presentation` does."""
        storage = variable.storage
        key = variable.type, storage.element, storage.endian
        if key not in self._forms:
            self._forms[key] = presentation(variable, self.handle.checked.types)
        return self._forms[key]

    def attributes(self, declared: Sequence[Attribute]) -> dict[str, Any]:
        """Return attributes by name, with values as `attribute` makes them; a `_FillValue` of chars is `bytes`."""
        types = self.handle.checked.types
        members = values_of(declared, self._shared, lambda node: attribute(node.value, types))
        if isinstance(members.get(FILL), str):
            fill = next(node.value for node in declared if node.name == FILL)
            members[FILL] = fill.data if fill.type == "char" else members[FILL]
        return members

    @property
    def axes(self) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
        """Dimension names of each variable by FQN, and notes on renamed ones by FQN of the variable."""
        if self._axes is None:
            self._axes = name_axes(self.handle.checked)
        return self._axes

    def __repr__(self) -> str:
        return f"<{self.handle!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        open_again = partial(pickle.loads, pickle.dumps(self.handle)) if self._open is None else self._open
        with _lock:
            if not self._token:
                self._token = uuid4().hex
                _known[self._token] = self
        return _reopen, (self._token, open_again)


def _reopen(token: str, open_again: Callable[[], GroupHandle]) -> OpenedDataset:
    """Return the dataset with a token, opened if the process does not have it. Raises the errors of opening."""
    with _lock:
        dataset = _known.get(token)
        if dataset is None:
            dataset = OpenedDataset(open_again(), open_again)
            dataset._token = token
            _known[token] = dataset
        _kept.put(token, dataset)
    return dataset
