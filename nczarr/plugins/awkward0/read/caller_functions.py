"""Functions that the caller of the reader adds to the table by name, for documents that call others.

Documents cannot add any. What such a function returns is checked: an array of a
known layout, or the bytes of a blob, as a decompressor returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import Report
from nczarr.plugins.awkward0.columns.nodes import BackReference, Column, Flat
from nczarr.plugins.awkward0.read import array_values
from nczarr.plugins.awkward0.read.arguments import Argument, Workspace
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.wire.limits import At, UnreadableDocumentError

Functions: TypeAlias = Mapping[str, Callable[..., Any]]
"""Functions of the caller by full name, such as `blosc.decompress`."""


def check_functions(
    functions: Functions | None, taken: Collection[tuple[str, ...]], canonical: Callable[..., tuple[str, ...]]
) -> dict[str, Callable[..., Any]]:
    """Return the functions of the caller. Raises TypeError, and ValueError for a name of the table.

    `taken`: names of the table; `canonical` returns the name there of any spelling.
    """
    for name, function in (functions or {}).items():
        if not isinstance(name, str) or not callable(function):
            raise TypeError(f"functions={{{name!r}: …}}: a full name and a function are expected")
        words = name.split(".")
        if any(canonical((".".join(words[:end]), *words[end:])) in taken for end in range(1, len(words))):
            raise ValueError(f"functions={{{name!r}: …}}: the reader has this function itself")
    return dict(functions or {})


def call_function(
    name: str,
    function: Callable[..., Any],
    args: list[Argument],
    kwargs: dict[str, Argument],
    workspace: Workspace,
    at: At | None,
) -> Any:
    """Return the array or blob that a function of the caller makes. Raises UnreadableDocumentError.

    It gets arrays of elements as those of NumPy, other arrays as columns, and blobs as bytes.
    """

    def pass_on(argument: Argument) -> Any:
        value = argument.value
        if isinstance(value, BackReference):
            text = f"{name}: an argument is an array that encloses this call"
            raise UnreadableDocumentError("bad-awkward-array", text, argument.at)
        value = workspace.finish(value)
        return array_values.replace(value, lambda each: each.values if isinstance(each, Flat) else each)

    passed, named = [*map(pass_on, args)], {key: pass_on(argument) for key, argument in kwargs.items()}
    try:
        result = _receive(function(*passed, **named))
    except UnreadableDocumentError as error:
        raise UnreadableDocumentError(error.code, f"{name}: {error.message}", at) from None
    except Exception as error:  # of the caller: the place in the document is needed to understand it
        text = f"{name}: the caller's function raises {type(error).__name__}: {error}"
        raise UnreadableDocumentError("bad-awkward-array", text, at) from error
    if isinstance(result, bytes):
        return workspace.blobs.hold(name, result)
    if result is None:
        text = f"{name}: the caller's function must return an array or bytes"
        raise UnreadableDocumentError("bad-awkward-array", text, at)
    return result


def _receive(result: Any) -> Column | bytes | None:
    """Return a result as a column, or the bytes of a blob; None for anything else."""
    from nczarr.plugins.awkward0.columns.awkward2 import is_awkward, of_awkward
    from nczarr.plugins.awkward0.write.encoder import of_numpy

    if isinstance(result, bytes | bytearray | memoryview):
        return bytes(result)
    if is_awkward(result):
        return of_awkward(result)
    if isinstance(result, np.ndarray) and result.ndim and dtypes.fault(result.dtype) is None:
        column = of_numpy(result.astype(dtypes.pack(result.dtype), copy=False), Report())
        return array_values.elements(column.values) if isinstance(column, Flat) else column
    return result if isinstance(result, Column) and not isinstance(result, BackReference) else None
