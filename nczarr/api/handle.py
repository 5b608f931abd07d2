"""Handles of datasets from `nczarr.open`, `from_cdl` and the builder: the checked tree and lazy arrays.

Values are read when they are indexed. A dataset is immutable. Input errors
raise one `CompileError`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack, cast

from nczarr.api.hints import add_hints
from nczarr.api.node_handles import GroupHandle
from nczarr.api.options import KeysOptions, options_from, takes
from nczarr.ast import Dataset
from nczarr.diagnostics.python_terms import in_python
from nczarr.diagnostics.report import OMITTED, UNREAD, CompileError, DataWarning, Diagnostic, Report, Source
from nczarr.options import FOLLOWING, Aggregation, Following, Options, RunOptions

if TYPE_CHECKING:
    from types import TracebackType

    from nczarr.semantics.checked import Checked
    from nczarr.stores.base import Store

    Openable = str | os.PathLike[str] | bytes | bytearray | memoryview | Mapping[str, Any] | Any


class DatasetHandle(GroupHandle):
    """An open dataset: the root group, and its text forms.

    `nczarr.open`, `from_cdl`, `from_notation` and `DatasetBuilder.finish` return
    handles. A handle is immutable, and also a context manager. Values are read when
    a variable is indexed.

    Attributes
    ----------
    checked : nczarr.semantics.checked.Checked
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
    ├─ station = 3
    ├─ name_length = 12
    ├─ time = unlimited (3)
    ├─ station_name  char (station 3, name_length 12)  2 attributes  36 B
    ├─ lat  float (station 3)  1 attribute  12 B
    ├─ lon  float (station 3)  1 attribute  12 B
    ├─ time  double (time 3)  1 attribute  24 B
    ├─ temperature  short (time 3, station 3)  3 attributes  18 B
    └─ 2 attributes
    >>> list(dataset)
    ['/station_name', '/lat', '/lon', '/time', '/temperature']
    >>> "temperature" in dataset
    True
    """

    def __init__(
        self,
        checked: Checked,
        diagnostics: Sequence[Diagnostic] = (),
        losses: Sequence[Diagnostic] = (),
        open_again: partial[DatasetHandle] | None = None,
    ) -> None:
        super().__init__(checked)
        self.diagnostics = tuple(diagnostics)
        """Warnings of the way here; a dataset with errors never becomes a handle."""
        self.losses = tuple(losses)
        """Those of them that say what was left out: it cannot be read, or its name was taken."""
        self._open_again = open_again

    @cached_property
    def dataset(self) -> Dataset:
        """Tree of frozen nodes, compared by value."""
        from nczarr.semantics.changed_tree import distinguish_nodes

        self.checked = distinguish_nodes(self.checked)
        return self.checked.dataset

    def __enter__(self) -> DatasetHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing, for code that closes datasets: sources are opened only while they are read.

        Examples
        --------
        >>> import nczarr
        >>> data = nczarr.from_cdl("netcdf a { variables: int v ; data: v = 3 ; }")
        >>> data.close()
        >>> int(data["v"][...])
        3
        """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the options of a dataset that `open` opened, without `storage_options`; others by value.

        A pickle has no credentials. Opening the dataset again takes them from the
        environment. Raises PicklingError for a URL with a user or a query, and for
        values in remote stores if the dataset is not from `open`.
        """
        from nczarr.api import pickling

        if self._open_again is None:
            return _unpickle, (pickling.content(self.checked), self.diagnostics, self.losses)
        pickling.check_reopening(self._open_again)
        return self._open_again, ()

    @property
    def _path(self) -> str:
        """Path or URL that `open` was called with; empty for other datasets."""
        return self._open_again.args[0] if self._open_again is not None else ""

    @property
    def _title(self) -> str:
        count = len(self)
        return f"dataset {self.dataset.name or '(no name)'}: {count} variable{'' if count == 1 else 's'}"

    def with_tree(self, tree: Dataset, *, renamed: Mapping[str, str] | None = None) -> DatasetHandle:
        """Return a dataset with another tree and the values of this one.

        A variable has the values that `renamed` names, else those of the one whose node
        it was, which `nczarr.ast.rename` and copies of nodes keep by their span, else
        those of the one with its path. Variables that the tree lacks are left out; those
        that it adds have fill values.

        Parameters
        ----------
        tree : Dataset
            The tree, such as a pass returns it. It is checked.
        renamed : Mapping of str to str
            New FQNs of variables by the old FQN.

        Returns
        -------
        DatasetHandle
            The changed dataset. Nothing is copied: values are read when they are indexed.

        Raises
        ------
        CompileError
            If the tree is invalid, if values do not have the type and shape that it
            declares, or if it is unknown whether a variable was renamed.

        Examples
        --------
        >>> import nczarr
        >>> from nczarr.ast import rename
        >>> data = nczarr.from_cdl("netcdf d { variables: int v ; data: v = 3 ; }")
        >>> int(data.with_tree(rename(data.dataset, {"/v": "w"}))["w"][...])
        3
        """
        from nczarr.api.tree import check_tree

        return DatasetHandle(check_tree(tree, self.checked, renamed), self.diagnostics, self.losses)

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

    @takes(KeysOptions)
    def to_keys(self, format: str = "nczarr", **options: Unpack[KeysOptions]) -> Mapping[str, bytes]:  # noqa: A002
        """Return the store that `nczarr.write` would make, in memory.

        Parameters
        ----------
        format : str
            Format of the store.
        **options
            The options of `nczarr.api.options.KeysOptions`.

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
        ['.zattrs', '.zgroup', '.zmetadata', 'v/.zarray', 'v/.zattrs', 'v/0']
        >>> keys["v/0"].hex()
        '0100000002000000'
        """
        from nczarr.pipeline import endpoints, phases

        report = Report()
        form = endpoints.target_format("", format, report)
        settings = options_from(**options)
        checked = report_losses(self, report, settings.run)
        keys = None if form is None else phases.keys(checked, form, report, settings)
        if keys is None or report.errors:
            raise CompileError(report.list_sorted())
        return keys

    def _text(self, form_name: str) -> str:
        """Return the dataset as text of a format such as `cdl`; raise CompileError if the format cannot hold it."""
        from nczarr.pipeline import endpoints, phases

        report = Report()
        form = endpoints.target_format("", form_name, report)
        pieces = None if form is None else phases.text(self.checked, form, report, Options.of(special=True))
        if pieces is None:
            raise CompileError(report.list_sorted())
        return b"".join(pieces).decode("utf-8")


@add_hints
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
    return _compile("cdl", text, name, kind)


@add_hints
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
    return _compile("notation", text, name, kind)


def _compile(format_name: str, text: str | bytes, name: str, kind: str | None) -> DatasetHandle:
    """Compile a text of a format such as `cdl`; `name` stands in messages, `kind` is that of a netCDF file."""
    from nczarr import registry
    from nczarr.pipeline import phases

    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    report, options = Report(), options_from(kind=kind, aggregation="keep")
    checked = phases.read(Source(name, data), report, options, registry.find_format(format_name))
    return handle_of(checked, report)


@add_hints
def open_dataset(
    path: Openable,
    *,
    kind: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    following: Following = FOLLOWING,
    aggregation: Aggregation = "expand",
) -> DatasetHandle:
    """Open a file or store of any readable format, which is detected by content.

    Parameters
    ----------
    path : str, os.PathLike, bytes, file, Mapping, zarr.abc.store.Store, xarray.Dataset or nczarr.ast.Dataset
        Path or URL; or a tree, whose variables then have fill values;
        or the content of a file as bytes or as an open binary file; or the
        keys of a store as a mapping to bytes or as a store of zarr-python; or manifests of
        VirtualiZarr, as a `ManifestStore`, `ManifestGroup` or dataset of `ManifestArray`s.
    kind : str, optional
        Kind of netCDF file that the dataset must fit, in any spelling of `ncgen -k`.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.
    following : nczarr.refs.Following
        Options for following the references of a document.
    aggregation : {"expand", "keep"}
        Read aggregation variables of CF as the arrays that they stand for, or as they are stored.

    Returns
    -------
    DatasetHandle
        The checked dataset. Unreadable content is omitted, with a `DataWarning`, and
        listed in `diagnostics` and `losses`.

    Raises
    ------
    OSError
        If the path is unreachable.
    CompileError
        If the content has errors; `.diagnostics` has all of them.
    TypeError
        If an object of another type is given, or a file that is open as text.

    Warns
    -----
    DataWarning
        If content was omitted; one warning for the dataset.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.open("samples/01-station.cdl")["time"][...].tolist()
    [0.0, 6.0, 12.0]
    >>> with open("samples/01-station.cdl", "rb") as file:
    ...     nczarr.open(file)["time"][...].tolist()
    [0.0, 6.0, 12.0]
    """
    handle = open_unchecked(path, kind, storage_options, following, aggregation)
    warn_of_losses(handle)
    return handle


def open_unchecked(
    path: Openable,
    kind: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    following: Following = FOLLOWING,
    aggregation: Aggregation = "expand",
) -> DatasetHandle:
    """Return as `open_dataset`, without a warning of omitted content, for callers that check it."""
    from nczarr.api import pickling
    from nczarr.pipeline import phases

    report = Report()
    options = options_from(
        kind=kind, allow_loss=UNREAD, storage_options=storage_options, following=following, aggregation=aggregation
    )
    if not isinstance(path, str | os.PathLike):
        return open_object(path, options)
    place = os.fspath(path)
    checked = phases.read_path(place, report, options)
    return handle_of(
        checked, report, pickling.opening(open_dataset, place, following, kind=kind, aggregation=aggregation)
    )


def open_object(source: Any, options: Options) -> DatasetHandle:
    """Return the dataset in an object that is not a path. Raises OSError, CompileError, TypeError."""
    from nczarr import registry
    from nczarr.names import plugin_index
    from nczarr.pipeline import phases
    from nczarr.stores import objects

    if isinstance(source, Dataset):
        from nczarr.api.tree import check_tree

        return DatasetHandle(check_tree(source))
    report = Report()
    openers = (registry.load(row.open_object) for row in plugin_index.list_own("opener").values())
    stores = (open_known(source, options) for open_known in openers)
    opened: Source | Store | None = next((store for store in stores if store is not None), None)
    if opened is None and (reader := find_object_reader(source)) is not None:
        prepared = reader(source, "", None, None, None, None, {})
        if prepared is not None:
            return prepared.handle
    if opened is None:
        opened = objects.open_object(source)
    return handle_of(phases.read(opened, report, options), report)


class PreparedObject(NamedTuple):
    """An object of another library ready to be written."""

    handle: DatasetHandle
    """The dataset."""
    format: str
    """Format of the target."""
    options: dict[str, Any]
    """Options of the run."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the object."""


class ObjectReader(Protocol):
    """Function of a plugin that makes objects of another library datasets."""

    def __call__(
        self,
        data: Any,
        path: str | os.PathLike[str],
        format_name: str | None,
        encoding: Any,
        unlimited: Any,
        group: str | None,
        options: dict[str, Any],
        /,
    ) -> PreparedObject | None:
        """Return an object ready for this target; None for an object of another class. Raises CompileError."""


def find_object_reader(candidate: object) -> ObjectReader | None:
    """Return what makes an object a dataset: the addition for the package of its class or of a base."""
    from nczarr.names.plugin_index import find_place, load_part

    packages = dict.fromkeys(base.__module__.partition(".")[0] for base in type(candidate).__mro__[:-1])
    places = (find_place("object", package) for package in packages)
    return next((load_part(place) for place in places if place is not None), None)


def handle_of(
    checked: Checked | None, report: Report, open_again: partial[DatasetHandle] | None = None
) -> DatasetHandle:
    """Return the handle of what was read. Raises CompileError after an error."""
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    return DatasetHandle(checked, report.list_sorted(), report.losses, open_again)


def _unpickle(
    content: tuple[Any, ...], diagnostics: tuple[Diagnostic, ...], losses: tuple[Diagnostic, ...]
) -> DatasetHandle:
    """Return the handle that was pickled by value."""
    from nczarr.api import pickling

    return DatasetHandle(pickling.restore_checked(content), diagnostics, losses)


LISTED = 5
"""Maximum losses that one warning lists."""

LEFT_OUT = frozenset({"unclosed-file", "mismatched-scale"})
"""Codes of content that a dataset lacks, beside losses."""


def warn_of_losses(handle: DatasetHandle) -> None:
    """Warn, once for a dataset, of content that was omitted: unreadable variables, unknown HDF5 objects, invalid keys.

    The warning is for the caller of the public function, `add_hints` around it, that calls this one.
    """
    text = omission(handle)
    if text:
        import warnings

        warnings.warn(text, DataWarning, stacklevel=4)


def omission(handle: DatasetHandle) -> str:
    """Return the message that lists what was omitted when a dataset was opened; empty without any."""
    lost = [one for one in handle.diagnostics if one in handle.losses or one.code in LEFT_OUT]
    if not lost:
        return ""
    more = f"; and {len(lost) - LISTED} more in `diagnostics`" if len(lost) > LISTED else ""
    listed = "; ".join(
        f"{one.code}: {': '.join((one.message, *map(str, one.notes[:LISTED])))}" for one in lost[:LISTED]
    )
    return in_python(f"content of the dataset was left out: {listed}{more}")


def report_losses(handle: DatasetHandle, report: Report, run: RunOptions) -> Checked:
    """Report content omitted when a dataset was opened, as errors, or as warnings if the options allow it.

    Return the content; what is left of cut variables can be read if the options allow it. Writing
    an open dataset is then the same as converting its file.
    """
    checked = handle.checked
    for loss in (one for one in handle.losses if one.code != OMITTED):  # writers refuse `Checked.omitted`
        allowed = run.accepts(loss.code)
        helps = () if allowed else (f"`allow_loss={loss.code!r}` writes the rest",)
        report.lose(loss._replace(helps=helps), allowed=allowed)
    cut = {
        path: {"": replace(cast("Any", parts[""]), strict=False)}
        for path, parts in checked.parts.items()
        if run.accepts("omitted-object") and getattr(parts.get(""), "strict", False)
    }
    return checked._replace(parts={**checked.parts, **cut}) if cut else checked
