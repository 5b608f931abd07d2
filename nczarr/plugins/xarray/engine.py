"""Entry point of the xarray engine `nczarr`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any, ClassVar

import numpy as np
import xarray
from xarray.backends.common import BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint

from nczarr import names, registry
from nczarr.api.handle import DatasetHandle, handle_of, omission, open_object
from nczarr.api.node_handles import GroupHandle
from nczarr.api.options import options_from
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import HEAD, UNREAD, Report, hint
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.options import FOLLOWING, Aggregation, Following, Options
from nczarr.pipeline import phases
from nczarr.plugins.xarray.data_store import DataStore
from nczarr.plugins.xarray.values import OpenedDataset, warn
from nczarr.registry import Format
from nczarr.stores import local_paths
from nczarr.stores.open import find_repository
from nczarr.stores.url import BadURLError, is_remote, location


def rename_differing_dimensions(
    groups: Mapping[str, xarray.Dataset], dimensions: Mapping[str, Mapping[str, str]]
) -> dict[str, xarray.Dataset]:
    """Return the groups with new names for dimensions that differ from one of that name in a group above.

    `groups`: by path, parents before children; `dimensions`: FQN of each group's
    dimensions by path and name. A coordinate variable is renamed with its
    dimension. Each is a warning in the group that has it first.
    """
    taken = {str(name) for dataset in groups.values() for name in (*dataset.dims, *dataset.variables)}
    settled = dict[str, xarray.Dataset]()
    inherited = dict[str, dict[str, str]]()
    for path, dataset in groups.items():
        parents = [str(parent) for parent in PurePosixPath(path).parents if str(parent) in settled]
        chosen = dict(inherited[parents[0]]) if parents else {}
        renamed = dict[str, str]()
        fqns = dimensions[path]
        for name in sorted(map(str, dataset.dims), key=lambda name: fqns.get(name) not in chosen):
            fqn = fqns.get(name, name)
            new = chosen.get(fqn, name)
            if new in renamed.values() or not all(_agree(name, dataset, new, settled[parent]) for parent in parents):
                new = names.free(name, taken.__contains__)
                taken.add(new)
                warn(f"group `{path}`: dimension `{name}` is `{new}`, because a group above has another `{name}`")
            chosen[fqn] = new
            renamed[name] = new
        renamed = {name: new for name, new in renamed.items() if name != new}
        inherited[path] = chosen
        settled[path] = _rename(dataset, renamed) if renamed else dataset
    return settled


def _agree(name: str, dataset: xarray.Dataset, new: str, above: xarray.Dataset) -> bool:
    """Return whether a dimension, under its new name, has the length and coordinate of a group above."""
    if new not in above.dims:
        return True
    if dataset.sizes[name] != above.sizes[new]:
        return False
    coordinate, other = dataset.variables.get(name), above.variables.get(new)
    if coordinate is None or other is None or coordinate.dims != (name,) or other.dims != (new,):
        return True
    same = other.copy(deep=False)
    same.dims = coordinate.dims
    if any(isinstance(value, np.ndarray) for value in coordinate.values.flat[:1]):
        return all(map(np.array_equal, coordinate.values, same.values))  # lists, which xarray cannot compare
    return bool(coordinate.equals(same))  # type: ignore[no-untyped-call]


def _rename(dataset: xarray.Dataset, new: Mapping[str, str]) -> xarray.Dataset:
    """Return a dataset with new names of dimensions and their coordinates, in encodings too."""
    renamed = dataset.rename(new)
    for variable in renamed.variables.values():
        preferred = variable.encoding.get("preferred_chunks")
        if preferred:
            variable.encoding["preferred_chunks"] = {
                new.get(dimension, dimension): size for dimension, size in preferred.items()
            }
    unlimited = dataset.encoding.get("unlimited_dims", ())
    renamed.encoding = {
        **dataset.encoding,
        "unlimited_dims": {new.get(dimension, dimension) for dimension in unlimited},
    }
    return renamed


_ARCHIVE = b"PK"


def claims(path: str) -> bool:
    """Return whether a path or URL has a format that no other engine reads, from its name and first bytes.

    Never raises: what cannot be read is not claimed.
    """
    try:
        place = location(path)
        if place.kind:
            return True
        if place.remote or not os.path.exists(place.path):
            return _by_suffix(place.path.partition("?")[0])
        if os.path.isdir(place.path):
            return _is_claimed_store(place.path)
        with open(place.path, "rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError, BadURLError):
        return False
    if head.startswith(_ARCHIVE):
        return _by_suffix(place.path)
    form = registry.detect("", head)  # a suffix is no evidence: JSON may be anything
    return form is not None and form.reading.only_reader


def _list_claimed() -> list[Format]:
    return [row for row in registry.formats() if row.reading.only_reader]


def _by_suffix(path: str) -> bool:
    return path.rstrip("/").lower().endswith(tuple(suffix for row in _list_claimed() for suffix in row.suffixes))


def _is_claimed_store(path: str) -> bool:
    """Return whether a folder has a claimed format. Raises OSError."""
    if find_repository(path) is not None:
        return True
    from nczarr.stores.directory import DirectoryStore

    store = DirectoryStore(path)
    return any(row.holds is not None and registry.load(row.holds)(store) for row in _list_claimed())


Openable = str | os.PathLike[str] | GroupHandle | Any


class NczarrBackendEntrypoint(BackendEntrypoint):
    """Engine for every format that nczarr reads: files, stores, references, streams and texts.

    Choose it by `engine="nczarr"`. Without that, xarray chooses it for formats that
    none of its own engines reads.
    """

    description: ClassVar[str] = "Open netCDF, Zarr, references, ncstream, CDL and other formats with nczarr"
    url: ClassVar[str] = "docs/how-to/xarray.md"
    supports_groups: ClassVar[bool] = True
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = None

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether this engine is the default for a source: no other engine reads its format."""
        if isinstance(filename_or_obj, GroupHandle):
            return True
        return isinstance(filename_or_obj, str | os.PathLike) and claims(os.fspath(filename_or_obj))

    def open_dataset(
        self,
        filename_or_obj: Openable,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        kind: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        following: Following = FOLLOWING,
        aggregation: Aggregation = "expand",
    ) -> xarray.Dataset:
        r"""Open one group.

        Parameters
        ----------
        filename_or_obj : str, os.PathLike, bytes, file, Mapping, zarr.abc.store.Store, DatasetHandle or GroupHandle
            Path, URL or object that `nczarr.open` takes, an open dataset, or one of its
            groups.
        mask_and_scale, decode_times, concat_characters, decode_coords, use_cftime, decode_timedelta
            xarray's own options of decoding.
        drop_variables : str or iterable of str, optional
            Variables to leave out.
        group : str, optional
            Path of the group, below a given group, with names as they are (`/g r`) or
            escaped as in a FQN (`/g\ r`); default: the root group, or the given one.
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
        xarray.Dataset
            The group, with lazy values.

        Raises
        ------
        OSError
            If the path or the group does not exist, or is unreachable.
        CompileError
            If the content has errors.
        """
        opened, source, top = _open(filename_or_obj, kind, storage_options, following, aggregation)
        decoders = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        path = _group_path(opened, top, group)
        return _dataset(opened, path, source, drop_variables, decoders)

    def open_groups_as_dict(
        self,
        filename_or_obj: Openable,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        kind: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        following: Following = FOLLOWING,
        aggregation: Aggregation = "expand",
        **decoders: Any,
    ) -> dict[str, xarray.Dataset]:
        """Open a group and all groups below it, each with the names that it has in the source.

        Parameters
        ----------
        filename_or_obj, drop_variables, group, kind, storage_options, following, aggregation, **decoders
            As in `open_dataset`.

        Returns
        -------
        dict of str to xarray.Dataset
            Datasets by path, relative to `group`.
        """
        opened, source, top = _open(filename_or_obj, kind, storage_options, following, aggregation)
        return _tree(opened, source, _group_path(opened, top, group), drop_variables, decoders)[0]

    def open_datatree(
        self,
        filename_or_obj: Openable,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        kind: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        following: Following = FOLLOWING,
        aggregation: Aggregation = "expand",
        **decoders: Any,
    ) -> xarray.DataTree:
        """Open a group and all groups below it as a tree.

        A dimension that hides one of a group above, with another length or other
        coordinates, is renamed together with its coordinate variable, and a warning
        names it: a tree of xarray cannot have both.

        Parameters
        ----------
        filename_or_obj, drop_variables, group, kind, storage_options, following, aggregation, **decoders
            As in `open_dataset`.

        Returns
        -------
        xarray.DataTree
            The tree, with lazy values.
        """
        opened, source, top = _open(filename_or_obj, kind, storage_options, following, aggregation)
        groups, dimensions = _tree(opened, source, _group_path(opened, top, group), drop_variables, decoders)
        return _join(groups, rename_differing_dimensions(groups, dimensions))


def _open(
    dataset: Openable,
    kind: str | None,
    storage_options: Mapping[str, Any] | None,
    following: Following,
    aggregation: Aggregation,
) -> tuple[OpenedDataset, str, str]:
    """Return the dataset, the source that encodings name, without secrets, and the FQN of the given group.

    Raises TypeError for an object that is no dataset.
    """
    if isinstance(dataset, GroupHandle):
        return OpenedDataset(dataset.root), dataset.root.name, dataset.path
    options = options_from(
        kind=kind,
        allow_loss=UNREAD,
        storage_options=StorageOptions(storage_options),
        following=following,
        aggregation=aggregation,
    ).change(masking_fill=True)
    if not isinstance(dataset, str | os.PathLike):
        handle = open_object(dataset, options)
        _warn_of_losses(handle)
        return OpenedDataset(handle), handle.dataset.name or "", "/"
    path = os.fspath(dataset)
    repository = location(path).repository
    if repository is not None:
        path = repository.absolute.text
    if not is_remote(path) and "://" not in path:
        path = local_paths.absolute(os.path.expanduser(path))
    again = partial(_read, path, options)
    handle = again()
    _warn_of_losses(handle)
    return OpenedDataset(handle, again), show(path), "/"


def _warn_of_losses(handle: DatasetHandle) -> None:
    """Warn of content that was omitted, and of changed targets of references."""
    texts = [omission(handle), *(one.message for one in handle.diagnostics if one.code == "changed-target")]
    for text in filter(None, texts):
        warn(text)


def _read(path: str, options: Options) -> DatasetHandle:
    """Return the dataset at a path. Raises OSError, CompileError."""
    report = Report()
    return handle_of(phases.read_path(path, report, options), report)


def _group_path(opened: OpenedDataset, top: str, group: str | None) -> str:
    """Return the FQN of a group below the group `top`: a path of names, or a FQN. Raises OSError for others."""
    groups = opened.handle.checked.groups
    written = (group or "").strip("/")
    parts = [part for part in written.split("/") if part]
    paths = [names.fqn([*names.split(top), *map(names.normal, parts)])]
    if "\\" in written:
        with suppress(ValueError):  # a backslash that is part of a name, not an escape
            paths.append(names.fqn([*names.split(top), *map(names.normal, names.split("/" + written))]))
    for path in paths:
        if path in groups:
            return path
    raise OSError(f"group not found: {group!r}{hint(paths[0], groups)}".replace("\\ ", " "))


def _tree(
    opened: OpenedDataset,
    source: str,
    top: str,
    drop_variables: str | Iterable[str] | None,
    decoders: Mapping[str, Any],
) -> tuple[dict[str, xarray.Dataset], dict[str, dict[str, str]]]:
    """Return a group and all below it, and the FQN of their dimensions by name, both by path relative to the group."""
    checked = opened.handle.checked
    inside = "/" if top == "/" else f"{top}/"
    named = opened.axes[0]
    groups, dimensions = dict[str, xarray.Dataset](), dict[str, dict[str, str]]()
    for path, node in checked.groups.items():
        if path != top and not path.startswith(inside):
            continue
        parts = names.split(path)[len(names.split(top)) :]
        if any("/" in part for part in parts):
            warn(f"group `{path}` is left out: its name has a `/`, which separates groups in xarray")
            continue
        place = str(PurePosixPath("/" if top == "/" else "", *parts))
        groups[place] = _dataset(opened, path, source, drop_variables, decoders)
        dimensions[place] = {
            name: reference
            for variable in node.variables
            for name, reference in zip(named[names.join(path, variable.name)], variable.dimensions, strict=True)
            if isinstance(reference, str)
        }
    return groups, dimensions


def _join(groups: Mapping[str, xarray.Dataset], renamed: Mapping[str, xarray.Dataset]) -> xarray.DataTree:
    """Return the tree of the renamed groups, which closes as the `groups`; `from_dict` copies each branch twice."""
    top = next(iter(groups))
    nodes = {place: xarray.DataTree(dataset) for place, dataset in renamed.items()}
    children: dict[str, dict[str, xarray.DataTree]] = {place: {} for place in nodes}
    for place, node in nodes.items():
        node.set_close(groups[place]._close)
        if place != top:
            parent, _, name = place.rpartition("/")
            children[parent or top][name] = node
    for place, below in children.items():  # parents first, because children inherit coordinates
        nodes[place].children = below
    return nodes[top]


def _dataset(
    opened: OpenedDataset,
    path: str,
    source: str,
    drop_variables: str | Iterable[str] | None,
    decoders: Mapping[str, Any],
) -> xarray.Dataset:
    """Return the decoded dataset of one group."""
    store = DataStore(opened, path, source, frozenset(names.list_texts(drop_variables or ())))
    with building():
        return StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **decoders)
