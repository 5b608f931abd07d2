"""Handles of datasets from `nczarr.open`, `from_cdl` and the builder: the checked tree and lazy arrays.

Values are read when they are indexed. A dataset is immutable. Input errors
raise one `CompileError`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from nczarr import names
from nczarr.api.options import TargetOptions, options_from, takes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Attribute, Dataset, Variable
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.options import FOLLOWING, UNREAD, Following, Options
from nczarr.source import Source

if TYPE_CHECKING:
    from types import TracebackType

    from nczarr.check.checked import Checked


class DatasetHandle:
    """A dataset: its tree, variables by path, and text forms. Also a context manager."""

    def __init__(
        self, checked: Checked, diagnostics: Sequence[Diagnostic] = (), losses: Sequence[Diagnostic] = ()
    ) -> None:
        self.checked = checked
        self.diagnostics = tuple(diagnostics)
        """Warnings of the way here; a dataset with errors never becomes a handle."""
        self.losses = tuple(losses)
        """Those of them that say what was left out: it cannot be read, or its name was taken."""

    @property
    def dataset(self) -> Dataset:
        """Tree of frozen nodes, compared by value."""
        return self.checked.dataset

    def __getitem__(self, path: str) -> VariableHandle:
        """Return the variable at a path (`/g1/temp`; a bare name is in the root group). Raises KeyError."""
        wanted = path if path.startswith("/") else "/" + path
        try:
            key = names.fqn(map(names.normal, names.split(wanted)))
        except ValueError:
            key = wanted
        variable = self.checked.variables.get(key)
        if variable is None:
            meant = names.closest(key, self.checked.variables)
            raise KeyError(f"no variable {path!r}" + (f"; did you mean {meant!r}?" if meant else ""))
        return VariableHandle(self.checked, key, variable)

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, str) and self[path] is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        """Yield the paths of all variables in definition order."""
        return iter(self.checked.variables)

    def __len__(self) -> int:
        return len(self.checked.variables)

    def __enter__(self) -> DatasetHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: sources are opened only while they are read."""

    def __repr__(self) -> str:
        return f"<dataset {self.dataset.name or '(no name)'!s}: {len(self)} variables>"

    def to_cdl(self) -> str:
        """Return CDL with values that reads back equal. Raises CompileError if CDL cannot represent it."""
        return self._text("cdl")

    def to_notation(self) -> str:
        """Return the model in the NCZarr notation, which reads back equal."""
        return self._text("notation")

    def to_ast(self) -> str:
        """Return the model as AST JSON, which reads back equal."""
        return self._text("ast")

    @takes(TargetOptions)
    def to_keys(self, format: str = "nczarr", **options: Unpack[TargetOptions]) -> Mapping[str, bytes]:  # noqa: A002
        """Return the keys of the store that `write` would make, with chunks. Raises CompileError for losses."""
        from nczarr import pipeline
        from nczarr.endpoints import targets

        report = Report()
        form = targets.target_format("", format, report)
        wanted = options_from(**options)
        report_losses(self, report, wanted)
        made = None if form is None else pipeline.keys(self.checked, form, report, wanted)
        if made is None or report.errors:
            raise CompileError(report.sorted())
        return made

    def _text(self, form_name: str) -> str:
        from nczarr import pipeline
        from nczarr.endpoints import targets

        report = Report()
        form = targets.target_format("", form_name, report)
        pieces = None if form is None else pipeline.text(self.checked, form, report, Options(special=True))
        if pieces is None:
            raise CompileError(report.sorted())
        return b"".join(pieces).decode("utf-8")


class VariableHandle:
    """One variable: its declaration, and its values by index."""

    def __init__(self, checked: Checked, path: str, variable: Variable) -> None:
        self._checked = checked
        self.path = path
        self.variable = variable

    @property
    def name(self) -> str:
        """Simple name."""
        return self.variable.name

    @property
    def type(self) -> str:
        """Atomic type name, or the FQN of a declared type."""
        return self.variable.type

    @property
    def dimensions(self) -> tuple[str | int, ...]:
        """FQNs of dimensions; an integer is an anonymous dimension."""
        return self.variable.dimensions

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """Attributes by name, including `_FillValue`."""
        return {attribute.name: attribute for attribute in self.variable.attributes}

    @property
    def shape(self) -> tuple[int, ...]:
        """Current lengths of the dimensions."""
        return self._checked.shapes[self.path]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of indexed values; object if values have no fixed size."""
        from nczarr.select.indexing import dtype_of

        return dtype_of(self.type, self._checked.types)

    def __getitem__(self, key: Any) -> Any:
        """Return values by integers, slices (negative steps too) and `...`, as in NumPy. Raises IndexError, TypeError.

        char is `S1`, an enum its integers, opaque `V`, a record a structured
        array. Strings are `str` or None (NIL), and vlen values arrays, both in
        object arrays.
        """
        from nczarr.select.indexing import read

        return read(self._checked, self.path, key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[...], dtype=dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar variable has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<variable {self.path} {self.type} {self.shape}>"


def from_cdl(text: str | bytes, *, name: str = "<text>", kind: str | None = None) -> DatasetHandle:
    """Compile a CDL text. Raises CompileError with all errors."""
    return _compiled("cdl", text, name, kind)


def from_notation(text: str | bytes, *, name: str = "<text>", kind: str | None = None) -> DatasetHandle:
    """Compile a text in the NCZarr notation. Raises CompileError with all errors."""
    return _compiled("notation", text, name, kind)


def _compiled(format_name: str, text: str | bytes, name: str, kind: str | None) -> DatasetHandle:
    from nczarr import pipeline, registry

    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    report = Report()
    return handle_of(
        pipeline.read(Source(name, data), report, options_from(kind=kind), registry.named(format_name)), report
    )


def open_dataset(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    following: Following = FOLLOWING,
) -> DatasetHandle:
    """Open a file or store at a path or URL, in any readable format, detected by content.

    `storage_options` apply to URLs, as the library of their protocol takes
    them; `following`: how references of a document are followed
    (`nczarr.refs.Following`). Unreadable content of a store is omitted and
    listed in the handle's `diagnostics`. Raises OSError, CompileError.
    """
    from nczarr import pipeline

    report = Report()
    options = options_from(kind=kind, allow_loss=UNREAD, storage_options=storage_options, following=following)
    return handle_of(pipeline.read_path(os.fspath(path), report, options), report)


def handle_of(checked: Checked | None, report: Report) -> DatasetHandle:
    """Return the handle of what was read. Raises CompileError after an error."""
    if checked is None or report.errors:
        raise CompileError(report.sorted())
    return DatasetHandle(checked, report.sorted(), report.losses)


def report_losses(handle: DatasetHandle, report: Report, options: Options) -> None:
    """Report content omitted when a dataset was opened, as errors, or as warnings if the options allow it.

    Writing an open dataset then reports the same as converting its file.
    """
    for loss in handle.losses:
        allowed = options.accepts(loss.code)
        helps = () if allowed else (f"`allow_loss={loss.code!r}` writes the rest",)
        report.lose(loss._replace(helps=helps), allowed=allowed)
