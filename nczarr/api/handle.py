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
    """An open dataset: its tree, its variables by path, and its text forms.

    `nczarr.open`, `from_cdl`, `from_notation` and `DatasetBuilder.finish` return
    handles. A handle is immutable, and also a context manager. Values are read when
    a variable is indexed.

    Attributes
    ----------
    checked : nczarr.check.checked.Checked
        The tree, the resolved types and shapes, and the sources of the values.
    diagnostics : tuple of Diagnostic
        Warnings of reading. A dataset with errors never becomes a handle.
    losses : tuple of Diagnostic
        The diagnostics about omitted content: it is unreadable, or its name is taken.

    Examples
    --------
    >>> import nczarr
    >>> dataset = nczarr.open("samples/01-station.cdl")
    >>> dataset
    <dataset station: 5 variables>
    >>> list(dataset)
    ['/station_name', '/lat', '/lon', '/time', '/temperature']
    >>> "temperature" in dataset
    True
    """

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
        """Return the variable at a path.

        Parameters
        ----------
        path : str
            Fully qualified name (`/g1/temp`); a bare name means a variable of the root group.

        Returns
        -------
        VariableHandle
            The variable.

        Raises
        ------
        KeyError
            If there is no such variable. The message has the closest name.
        """
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
        """Return the dataset as CDL with its values.

        Returns
        -------
        str
            A text that reads back to an equal dataset.

        Raises
        ------
        CompileError
            If CDL cannot represent the dataset.

        Examples
        --------
        >>> import nczarr
        >>> print(nczarr.from_notation("dataset d 1.0.0 { dimension x 2 variable v int /x }").to_cdl().expandtabs(4))
        netcdf d {
        dimensions:
            x = 2 ;
        variables:
            int v(x) ;
        data:
        }
        <BLANKLINE>
        """
        return self._text("cdl")

    def to_notation(self) -> str:
        """Return the model of the dataset, without values, in the NCZarr notation.

        Returns
        -------
        str
            A text that reads back to an equal model.

        Examples
        --------
        >>> import nczarr
        >>> print(nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: int v(x) ; }").to_notation())
        dataset d 2.0.0 {
          dimension x 2
          variable v int /x
        }
        <BLANKLINE>
        """
        return self._text("notation")

    def to_ast(self) -> str:
        """Return the model of the dataset, without values, as AST JSON.

        Returns
        -------
        str
            A JSON document that reads back to an equal model.
        """
        return self._text("ast")

    @takes(TargetOptions)
    def to_keys(self, format: str = "nczarr", **options: Unpack[TargetOptions]) -> Mapping[str, bytes]:  # noqa: A002
        """Return the store that `nczarr.write` would make, in memory.

        Parameters
        ----------
        format : str
            Format of the store.
        **options
            The options of `nczarr.api.options.TargetOptions`.

        Returns
        -------
        Mapping of str to bytes
            Metadata documents and encoded chunks by key.

        Raises
        ------
        CompileError
            If the store would lose something that `allow_loss` does not name.
        TypeError, ValueError
            If an option does not exist, or has an invalid value.

        Examples
        --------
        >>> import nczarr
        >>> dataset = nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
        >>> keys = dataset.to_keys("zarr2")
        >>> sorted(keys)
        ['.zattrs', '.zgroup', 'v/.zarray', 'v/.zattrs', 'v/0']
        >>> keys["v/0"].hex()
        '0100000002000000'
        """
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
    """One variable of an open dataset: its declaration, and its values by index.

    Attributes
    ----------
    path : str
        Fully qualified name.
    variable : nczarr.ast.Variable
        The node of the tree.

    Examples
    --------
    >>> import nczarr
    >>> temperature = nczarr.open("samples/01-station.cdl")["/temperature"]
    >>> temperature
    <variable /temperature short (3, 3)>
    >>> temperature.dimensions, temperature.shape, temperature.dtype
    (('/time', '/station'), (3, 3), dtype('int16'))
    >>> temperature[0, ::2].tolist()
    [21800, -999]
    """

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
        """NumPy dtype of indexed values; `object` for strings and vlen values."""
        from nczarr.select.reader import dtype_of

        return dtype_of(self.type, self._checked.types)

    def __getitem__(self, key: Any) -> Any:
        """Return the values at an index.

        Parameters
        ----------
        key : int, slice, Ellipsis, None, array of integers, mask, or tuple of these
            Index as in NumPy: integer arrays, lists and masks too, in every mixture. Of a
            chunked variable, each chunk with a wanted cell is read once, and no other.

        Returns
        -------
        numpy scalar or numpy.ndarray
            Values of `dtype`, in the shape that NumPy gives the index; a scalar if that
            has no dimensions. The values belong to the caller. A char is `S1`,
            an enum its integer, an opaque value `V`, a record a structured value. Strings
            are `str`, or None for NIL, and vlen values are arrays, both in object arrays.

        Raises
        ------
        IndexError
            If an index is out of bounds, has too many dimensions, or has arrays or masks
            of wrong shapes.
        TypeError
            If a part of the index has another type.
        CompileError
            If a chunk cannot be decoded.
        OSError
            If a chunk cannot be read.
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
    """Compile a CDL text.

    Parameters
    ----------
    text : str or bytes
        The text, as UTF-8 if it is bytes.
    name : str
        Name of the text in diagnostics.
    kind : str, optional
        Kind of netCDF file that the dataset must fit, in any spelling of `ncgen -k`.

    Returns
    -------
    DatasetHandle
        The checked dataset.

    Raises
    ------
    CompileError
        If the text has errors; `.diagnostics` has all of them.

    Examples
    --------
    >>> import nczarr
    >>> dataset = nczarr.from_cdl("netcdf d { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, _ ; }")
    >>> dataset["v"][:2].tolist()
    [1, 2]
    >>> nczarr.from_cdl("netcdf d { variables: int v(x) ; }")
    Traceback (most recent call last):
    nczarr.diagnostics.report.CompileError: undefined-dimension: dimension `x` is not defined (at <text>:1:29)
    """
    return _compiled("cdl", text, name, kind)


def from_notation(text: str | bytes, *, name: str = "<text>", kind: str | None = None) -> DatasetHandle:
    """Compile a text in the NCZarr notation.

    Parameters
    ----------
    text : str or bytes
        The text, as UTF-8 if it is bytes.
    name : str
        Name of the text in diagnostics.
    kind : str, optional
        Kind of netCDF file that the dataset must fit, in any spelling of `ncgen -k`.

    Returns
    -------
    DatasetHandle
        The checked dataset. All values are fill values: the notation has no data.

    Raises
    ------
    CompileError
        If the text has errors; `.diagnostics` has all of them.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.from_notation("dataset d 1.0.0 { dimension x 3 variable v int /x }")["v"].shape
    (3,)
    """
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
    """Open a file or store of any readable format, which is detected by content.

    Parameters
    ----------
    path : str or os.PathLike
        Path or URL.
    kind : str, optional
        Kind of netCDF file that the dataset must fit, in any spelling of `ncgen -k`.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.
    following : nczarr.refs.Following
        Options for following the references of a document.

    Returns
    -------
    DatasetHandle
        The checked dataset. Unreadable content of a store is omitted, and listed in
        `diagnostics` and `losses`.

    Raises
    ------
    OSError
        If the path is unreachable.
    CompileError
        If the content has errors; `.diagnostics` has all of them.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.open("samples/01-station.cdl")["time"][...].tolist()
    [0.0, 6.0, 12.0]
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
