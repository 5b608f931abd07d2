"""Compare a dataset that libnetcdf reads by DAP2 or DAP4 with its file, by the rules of docs/how-to/serve.md.

Both sides are open datasets of netCDF4-python, so our own reader takes no part.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_UNSAFE = re.compile(r"[^A-Za-z0-9_\-+]")
_TOO_LARGE = 1 << 53

STORED = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")
"""Attributes with stored values."""


def differences(local: Any, remote: Any, protocol: str) -> list[str]:
    """Everything of a dataset that its remote form does not have as the rules say."""
    return list((_Dap2 if protocol == "dap2" else _Dap4)(local, remote).all())


def _walk(group: Any) -> Iterator[Any]:
    yield group
    for each in group.groups.values():
        yield from _walk(each)


def _path(group: Any) -> tuple[str, ...]:
    return tuple(each for each in group.path.split("/") if each)


def _is_list(variable: Any) -> bool:
    return type(variable.datatype).__name__ == "VLType" and variable.dtype is not str


def _is_compound(variable: Any) -> bool:
    return type(variable.datatype).__name__ == "CompoundType"


def _raw(variable: Any, *index: Any) -> np.ndarray[Any, Any]:
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    return np.asarray(variable[index or ...])


def _as_meant(variable: Any, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Integers with the sign that `_Unsigned` says."""
    kind = {"true": "u", "false": "i"}.get(str(getattr(variable, "_Unsigned", "")).lower())
    return values.view(f"{kind}{values.dtype.itemsize}") if kind and values.dtype.kind in "iu" else values


def _texts(chars: np.ndarray[Any, Any]) -> list[bytes]:
    """The texts of chars along their last dimension, each up to its first NUL, where libnetcdf cuts it."""
    if chars.ndim == 0:
        chars = chars.reshape(1)
    rows = np.ascontiguousarray(chars).reshape(-1, chars.shape[-1])
    return [row.tobytes().partition(b"\0")[0] for row in rows]


def _strings(values: np.ndarray[Any, Any]) -> list[bytes]:
    return [str(each).encode("utf-8", "surrogateescape").partition(b"\0")[0] for each in values.reshape(-1)]


def _same(one: Any, other: Any) -> bool:
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return False
    return np.array_equal(first, second, equal_nan=first.dtype.kind == "f" and second.dtype.kind == "f")


class _Rules:
    """Comparison of two datasets."""

    def __init__(self, local: Any, remote: Any) -> None:
        self.local, self.remote = local, remote

    def text(self, value: Any) -> str:
        """A text attribute as the protocol brings it: texts of a list in one, as this library joins them."""
        texts = value if isinstance(value, list) else [value]
        return "\n".join(str(each).partition("\0")[0] for each in texts)

    def attributes(self, owner: Any, other: Any, place: str, name: Any) -> Iterator[str]:
        """Differences of the attributes; `name`: from a name here to that there."""
        there = set(other.ncattrs())
        for key in owner.ncattrs():
            value = owner.getncattr(key)
            if isinstance(value, np.ndarray) and (value.dtype.kind not in "iuf" or not value.size):
                continue  # lists and records are left out, and what has no values
            if name(key) not in there:
                yield f"{place}@{key}: missing"
                continue
            found = other.getncattr(name(key))
            if isinstance(value, str | list):
                if self.text(value) != self.text(found):
                    yield f"{place}@{key}: {value!r} is {found!r}"
            elif not self.attribute(key, np.asarray(value), np.asarray(found)):
                yield f"{place}@{key}: {value!r} is {found!r}"

    def attribute(self, name: str, value: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
        """Whether numbers of an attribute are equal."""
        return self.number(value, found)

    def number(self, value: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
        """Whether numbers are equal, of unsigned types by their bits."""
        if value.dtype.kind == "u" and found.dtype.kind == "i" and value.itemsize == found.itemsize:
            found = found.view(value.dtype)
        return _same(np.atleast_1d(value), np.atleast_1d(found))


class _Dap2(_Rules):
    @staticmethod
    def name(*path: str) -> str:
        """The name of something in groups as DAP2 has it."""
        joined = "_".join(_UNSAFE.sub(_percent, each) for each in path)
        return f"_{joined}" if joined.startswith("%") else joined

    def all(self) -> Iterator[str]:
        """Differences of variables and attributes. Groups are part of names."""
        expected = set()
        for group in _walk(self.local):
            for variable in group.variables.values():
                name = self.name(*_path(group), variable.name)
                if 0 in variable.shape or _is_list(variable):
                    if name in self.remote.variables:
                        yield f"{name}: is there"
                elif _is_compound(variable):
                    expected |= {each for each in self.remote.variables if each.startswith(f"{name}.")}
                else:
                    expected.add(name)
                    yield from self.variable(variable, name)
        yield from (f"{name}: not in the file" for name in set(self.remote.variables) - expected)
        yield from self.attributes(self.local, self.remote, "", self.name)

    def variable(self, variable: Any, name: str) -> Iterator[str]:
        """Differences of a variable."""
        found = self.remote.variables.get(name)
        if found is None:
            yield f"{name}: missing"
            return
        yield from self.attributes(variable, found, name, self.name)
        if variable.dtype in (np.dtype("i8"), np.dtype("u8")) and self.beyond(variable):
            return
        values, there = _as_meant(variable, _raw(variable)), _raw(found)
        if variable.dtype is str:
            if _strings(values) != _texts(there):
                yield f"{name}: other texts"
        elif variable.dtype == np.dtype("S1"):
            unescaped = [each.replace(b"\\", b"") for each in _texts(values)]  # libnetcdf takes them for escapes
            if unescaped != [each.replace(b"\\", b"") for each in _texts(there)] or values.shape != (
                there.shape if values.ndim else ()
            ):
                yield f"{name}: other chars"
        elif values.dtype.kind == "V":
            if values.tobytes() != there.tobytes():
                yield f"{name}: other bytes"
        elif not self.number(values, there):
            yield f"{name}: other values"
        elif found.dtype != self.type(values.dtype):
            yield f"{name}: {variable.dtype} is {found.dtype}"

    def beyond(self, variable: Any) -> bool:
        """Whether integers are no doubles: a request for them is refused."""
        return bool((np.abs(_raw(variable).astype(object)) > _TOO_LARGE).any())

    def attribute(self, name: str, value: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
        """Whether numbers are equal, those of stored values but for their sign, which `_Unsigned` may change."""
        if name in STORED and value.dtype.kind in "iu" and found.dtype.kind in "iu":
            found = found.astype(value.dtype)
        return self.number(value, found)

    def type(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type of numbers there."""
        plain = dtype.newbyteorder("=")
        if plain.kind in "iu" and plain.itemsize == 8:
            return np.dtype("f8")
        return np.dtype({"i1": "i2", "u1": "i1", "u2": "i2", "u4": "i4"}.get(plain.str[1:], plain))


class _Dap4(_Rules):
    def text(self, value: Any) -> str:
        """The text without what libnetcdf changes: entities stay, backslashes vanish, blanks around it are cut."""
        return html.unescape(super().text(value)).replace("\\", "").strip()

    def attribute(self, name: str, value: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
        """Whether numbers are equal: libnetcdf damages a `_FillValue` of floats, which `missing_value` repeats."""
        if name == "_FillValue" and found.dtype == np.dtype("f4"):
            first, second = (int(np.ascontiguousarray(each).view("i4").reshape(())) for each in (value, found))
            return abs(first - second) < 8 or bool(np.isnan(found) and not np.isfinite(value))
        if name == "missing_value" and found.size == value.size + 1:
            found = np.atleast_1d(found)[:-1]
        return self.number(value, found)

    def all(self) -> Iterator[str]:
        """Differences of groups, dimensions, variables and attributes."""
        remote = {_path(each): each for each in _walk(self.remote)}
        for group in _walk(self.local):
            there = remote.get(_path(group))
            if there is None:
                yield f"{group.path}: missing"
                continue
            for dimension in group.dimensions.values():
                found = there.dimensions.get(dimension.name)
                if found is None or len(found) != len(dimension):
                    yield f"{group.path}: dimension {dimension.name}"
            for variable in group.variables.values():
                yield from self.variable(variable, there.variables.get(variable.name))
            yield from (f"{group.path}: {name} not in the file" for name in there.variables.keys() - group.variables)
            yield from self.attributes(group, there, group.path, str)

    def variable(self, variable: Any, found: Any) -> Iterator[str]:
        """Differences of a variable."""
        place = f"{variable.group().path}:{variable.name}"
        if found is None:
            yield f"{place}: missing"
            return
        if found.dimensions != variable.dimensions:
            yield f"{place}: dimensions {found.dimensions}"
        yield from self.attributes(variable, found, place, str)
        values, there = _raw(variable), _raw(found)
        if _is_list(variable):
            same = len(values.flat) == len(there.flat) and all(map(_same, values.flat, there.flat))
            if not same:
                yield f"{place}: other lists"
        elif variable.dtype is str:
            if _strings(values) != _strings(there):
                yield f"{place}: other texts"
        elif _is_compound(variable):
            for field in values.dtype.names or ():
                if values.dtype[field].shape == () and not _same(values[field], there[field]):
                    yield f"{place}: other values of {field}"
        elif values.dtype.newbyteorder("=") != there.dtype.newbyteorder("=") or values.tobytes() != there.tobytes():
            yield f"{place}: other values"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
