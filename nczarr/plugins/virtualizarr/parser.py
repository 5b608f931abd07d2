"""VirtualiZarr's parser protocol for every format whose chunks are byte ranges (`pip install 'nczarr[virtualizarr]'`).

The result has the documents of Zarr v3 that `nczarr convert --to zarr3` would
write, and the byte ranges that a reference document would have.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.api.options import options_from
from nczarr.arrays.chunks.manifest import WHOLE, Referred
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import grid_of
from nczarr.diagnostics.report import UNREAD, CompileError, Diagnostic, Report, Severity
from nczarr.options import FOLLOWING, Following, Options, Writing
from nczarr.pipeline.select.selection import Subset
from nczarr.stores.base import is_metadata

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked

__all__ = ["Parser"]

_DOCUMENT = "zarr.json"


class Parser:
    """Parser of VirtualiZarr for every format and URL that nczarr reads.

    Chunks stay where they are. Chunks of at most `inline` bytes, and variables
    whose values are no byte ranges, such as netCDF strings, become part of the
    manifest.

    Parameters
    ----------
    group : str, optional
        Path of the group that becomes the root of the result.
    drop_variables : iterable of str
        Variables to leave out: simple names, or paths such as `/g/v`.
    storage_options : Mapping, optional
        Options of the URL's protocol, as fsspec takes them.
    kind : str, optional
        Kind of netCDF file that the dataset must fit, in any spelling of `ncgen -k`.
    allow_loss : iterable of str
        Codes of losses that are accepted: what Zarr v3 without extensions cannot
        hold.
    inline : int
        Largest size of a chunk, in bytes, that becomes part of the manifest.
    embed : int
        Largest size of a variable, in bytes, that becomes part of the manifest
        because its values are no byte ranges.
    following : nczarr.refs.Following
        Options for following the references of a document.

    Examples
    --------
    Open a CDF-5 file as a virtual dataset::

        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore
        from virtualizarr import open_virtual_dataset

        registry = ObjectStoreRegistry({"file://": LocalStore()})
        open_virtual_dataset("file:///data/a.nc", registry=registry, parser=nczarr.virtualizarr.Parser())
    """

    def __init__(
        self,
        *,
        group: str | None = None,
        drop_variables: Iterable[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        kind: str | None = None,
        allow_loss: Iterable[str] = (),
        inline: int = 64,
        embed: int = 4 << 20,
        following: Following = FOLLOWING,
    ) -> None:
        self._group = names.fqn(part for part in (group or "").split("/") if part)
        self._dropped = frozenset(names.list_texts(drop_variables))
        lost = set(names.list_texts(allow_loss))
        options = options_from(
            kind=kind, allow_loss=lost | UNREAD, storage_options=storage_options, following=following
        )
        writing = Writing(metadata="zarr3", inline=inline, embed=embed)
        self._options: Options = options.change(writing=writing, survey=True)

    def __call__(self, url: str, registry: Any) -> Any:
        """Return the chunks of a dataset as a store of VirtualiZarr.

        Parameters
        ----------
        url : str
            URL or path of the dataset.
        registry : obspec_utils.registry.ObjectStoreRegistry
            Stores from which the result reads chunks.

        Returns
        -------
        virtualizarr.manifests.ManifestStore
            Groups, arrays and byte ranges.

        Raises
        ------
        CompileError
            If the content has errors, has no group of that name, or would lose
            something that `allow_loss` does not name.
        OSError
            If the source is unreachable.
        ImportError
            If VirtualiZarr is missing or too old.
        """
        manifests = _import_manifests()
        report = Report()
        documents, content, arrays = self._make_references(url, report)
        groups: dict[str, Any] = {}
        for prefix in sorted(documents, reverse=True):  # the groups inside a group come before it
            if documents[prefix]["node_type"] != "group":
                continue
            members = dict(_list_members(prefix, documents))
            groups[prefix] = manifests.ManifestGroup(
                arrays={
                    name: _make_array(manifests, documents[place], arrays.get(place), content.get(place, {}), registry)
                    for name, place in members.items()
                    if documents[place]["node_type"] == "array"
                },
                groups={name: groups[place] for name, place in members.items() if place in groups},
                attributes=documents[prefix].get("attributes", {}),
            )
        prefix_of_group = "".join(f"{part}/" for part in names.split(self._group))
        if prefix_of_group not in groups:
            raise _fault("unknown-name", f"there is no group `{self._group}`")
        return manifests.ManifestStore(groups[prefix_of_group], registry=registry)

    def _make_references(
        self, url: str, report: Report
    ) -> tuple[dict[str, dict[str, Any]], Mapping[str, dict[str, bytes]], dict[str, Referred]]:
        """Return documents, chunks that have become content (by key), and byte ranges, each by prefix."""
        from nczarr import link, registry
        from nczarr.formats.reference.target import DocumentStore
        from nczarr.pipeline import phases
        from nczarr.plan.plans import StorePlan
        from nczarr.semantics.checked import open_fragments

        checked = phases.read_path(url, report, self._options)
        if checked is None or report.errors:
            raise CompileError(report.list_sorted())
        form = registry.find_format("reference")
        assert form is not None
        part = open_fragments(self._drop(checked, report))
        plan = phases.plan(part, form, report, self._options.change(source=url))
        if not isinstance(plan, StorePlan):
            raise CompileError(report.list_sorted())
        store = DocumentStore("", plan)
        if not link.write_into_store(plan, store, report):
            raise CompileError(report.list_sorted())
        content = dict(store.content)
        documents = {key: json.loads(content.pop(key)) for key in store.content if key.endswith(_DOCUMENT)}
        return (
            {key.removesuffix(_DOCUMENT): document for key, document in documents.items()},
            _by_array(content, documents),
            {referred.chunk_keys.prefix: referred for referred in store.arrays},
        )

    def _drop(self, checked: Checked, report: Report) -> Checked:
        """Return the dataset without the variables to drop."""
        from nczarr.pipeline import phases

        if not self._dropped:
            return checked
        remaining = tuple(
            path for path in checked.variables if path not in self._dropped and names.last(path) not in self._dropped
        )
        part = phases.select(checked, Subset(variables=remaining), report)
        if part is None:
            raise CompileError(report.list_sorted())
        return part


def _import_manifests() -> Any:
    """Return the module `virtualizarr.manifests`. Raises ImportError with the command that installs it."""
    install = "run `pip install 'nczarr[virtualizarr]'`, with Python 3.12 or newer"
    try:
        from virtualizarr import manifests
    except ImportError as error:
        raise ImportError(f"VirtualiZarr is not installed ({error}); {install}") from None
    if "inlined" not in inspect.signature(manifests.ChunkManifest.from_arrays).parameters:
        raise ImportError(f"this release of VirtualiZarr has no place for chunks in a manifest; {install}")
    return manifests


def _list_members(prefix: str, documents: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield name and prefix of each member of a group."""
    for place in documents:
        name = place[len(prefix) : -1]
        if place.startswith(prefix) and name and "/" not in name:
            yield name, place


def _by_array(content: Mapping[str, bytes], documents: Mapping[str, Any]) -> dict[str, dict[str, bytes]]:
    """Return chunks by the prefix of their array, and there by the rest of the key."""
    chunks: dict[str, dict[str, bytes]] = {}
    for key, data in content.items():
        prefix = key
        while prefix and f"{prefix}/{_DOCUMENT}" not in documents:
            prefix = prefix.rpartition("/")[0]
        if not is_metadata(key):
            chunks.setdefault(f"{prefix}/" if prefix else "", {})[key[len(prefix) :].lstrip("/")] = data
    return chunks


def _make_array(
    manifests: Any,
    document: dict[str, Any],
    referred: Referred | None,
    content: Mapping[str, bytes],
    registry: Any,
) -> Any:
    """Return an array of a manifest, from its document, its byte ranges and the chunks in `content`."""
    from zarr.core.metadata import ArrayV3Metadata

    metadata = ArrayV3Metadata.from_dict(document)
    chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
    grid = grid_of(tuple(document["shape"]), tuple(chunks))
    paths = np.zeros(grid, np.dtypes.StringDType())  # VirtualiZarr takes no other strings
    offsets, lengths = np.zeros(grid, np.uint64), np.zeros(grid, np.uint64)
    if referred is not None:
        columns = referred.columns
        urls = np.array(columns.sources, np.dtypes.StringDType())
        paths.reshape(-1)[columns.chunk] = urls[columns.source]
        offsets.reshape(-1)[columns.chunk] = columns.offset.astype(np.uint64)
        sizes = columns.length
        if (sizes == WHOLE).any():
            sizes = _sizes(columns.sources, columns.source, sizes, registry)
        lengths.reshape(-1)[columns.chunk] = sizes.astype(np.uint64)
    inlined = {}
    for index, data in _chunks(document, content):
        inlined[index] = data
        paths[index], lengths[index] = "__inlined__", len(data)
    manifest = manifests.ChunkManifest.from_arrays(
        paths=paths, offsets=offsets, lengths=lengths, validate_paths=False, inlined=inlined
    )
    return manifests.ManifestArray(metadata=metadata, chunkmanifest=manifest)


def _chunks(document: Mapping[str, Any], content: Mapping[str, bytes]) -> Iterable[tuple[tuple[int, ...], bytes]]:
    """Yield index and bytes of each chunk of an array in `content`."""
    encoding = document["chunk_key_encoding"]
    separator = encoding.get("configuration", {}).get("separator", "/" if encoding["name"] == "default" else ".")
    rank = len(document["shape"])
    for key, data in content.items():
        parts = key.split(separator)
        if encoding["name"] == "default":
            if parts.pop(0) != "c":
                continue
        elif not rank and parts == ["0"]:  # Zarr v3: the `v2` key of a scalar's chunk
            parts = []
        if len(parts) == rank and all(part.isdecimal() for part in parts):
            yield tuple(map(int, parts)), data


def _sizes(
    sources: tuple[str, ...], source: NDArray[np.int64], lengths: NDArray[np.int64], registry: Any
) -> NDArray[np.int64]:
    """Return the lengths of byte ranges, int64, shape (rows,), with those of whole files and objects found out.

    `source`: int64, shape (rows,), places in `sources`; `lengths`: int64, shape
    (rows,), with `WHOLE`. Raises OSError.
    """
    sizes = lengths.copy()
    whole = lengths == WHOLE
    whole_sizes = {number: _size(sources[number], registry) for number in np.unique(source[whole]).tolist()}
    sizes[whole] = [whole_sizes[number] for number in source[whole].tolist()]
    return sizes


def _size(url: str, registry: Any) -> int:
    if url.startswith("file://"):
        return os.path.getsize(url.removeprefix("file://"))
    store, path = registry.resolve(url)
    return int(store.head(path)["size"])


def _fault(code: str, message: str) -> CompileError:
    return CompileError([Diagnostic(code, Severity.ERROR, message)])
