"""Manifests of VirtualiZarr as references: documents of Zarr v3, and byte ranges of their chunks.

The objects are those that its parsers return (`ManifestStore`, `ManifestGroup`), and datasets of xarray with them.
Their arrays of paths, offsets and lengths are kept; no entry becomes an object before it is asked for.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report, suggest
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.registry import ChunkKeys
from nczarr.stores import local_paths
from nczarr.stores.base import Reference, is_node, next_segments, with_prefix
from nczarr.stores.objects import ObjectStore
from nczarr.stores.reference_policy import Policy
from nczarr.stores.references import ReferenceStore

DOCUMENT = "zarr.json"

INLINED = "__inlined__"
"""Path of chunks whose bytes are in the manifest."""


class ManifestTable(NamedTuple):
    """Locations of the chunks of one array; the arrays have the shape of its chunk grid."""

    keys: ChunkKeys
    """Names of the chunks."""
    paths: NDArray[Any]
    """URLs; empty for missing chunks."""
    offsets: NDArray[np.uint64]
    """First bytes of the chunks in the files."""
    lengths: NDArray[np.uint64]
    """Bytes of the chunks."""
    inlined: Mapping[tuple[int, ...], bytes]
    """Chunks whose bytes are in the manifest, by index."""

    def at(self, index: tuple[int, ...]) -> bytes | Reference | None:
        """Return the bytes of a chunk, their location, or None."""
        path = str(self.paths[index])
        if path == INLINED or index in self.inlined:
            return self.inlined.get(index)
        return Reference(path, int(self.offsets[index]), int(self.lengths[index])) if path else None

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield the keys of all chunks, with their bytes or locations."""
        for index in np.ndindex(self.paths.shape):
            value = self.at(index)
            if value is not None:
                yield self.keys.key(index), value


class ManifestReferences:
    """References of manifests. `documents`: all keys that are no chunks of `tables`, which are by prefix."""

    noted = None

    def __init__(self, documents: Mapping[str, bytes], tables: Mapping[str, ManifestTable]) -> None:
        self.documents = documents
        self.tables = tables

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes of a key, their location, or None."""
        document = self.documents.get(key)
        if document is not None:
            return document
        table = self._table_of(key)
        index = None if table is None else table.keys.index_of(key, table.paths.shape)
        return None if table is None or index is None else table.at(index)

    def _table_of(self, key: str) -> ManifestTable | None:
        """Return the table of the array below which a key is."""
        end = len(key)
        while end >= 0:
            end = key.rfind("/", 0, end)
            table = self.tables.get(key[: end + 1])
            if table is not None:
                return table
        return None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        inside = self._table_of(prefix)
        below = (table for at, table in self.tables.items() if at.startswith(prefix))
        chunks = [key for table in ([inside] if inside is not None else below) for key, _ in table.entries()]
        return iter(with_prefix(sorted([*self.documents, *chunks]), prefix))

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`, sorted."""
        keys = self.keys(prefix) if self._table_of(prefix) is not None else with_prefix(sorted(self.documents), prefix)
        return next_segments(keys, prefix)

    def nodes(self, prefix: str) -> list[str]:
        """Return the keys of documents of arrays and groups with `prefix`, sorted."""
        return sorted(key for key in self.documents if key.startswith(prefix) and is_node(key))

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield all keys with their bytes or locations."""
        yield from self.documents.items()
        for table in self.tables.values():
            yield from table.entries()

    def odd(self) -> list[str]:
        """Return no keys: arrays and groups name them all."""
        return []

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        """Yield every URL once for each array, with the key of a chunk there."""
        for table in self.tables.values():
            flat = table.paths.reshape(-1).astype("U")
            urls, places = np.unique(flat, return_index=True)
            for url, place in zip(urls.tolist(), places.tolist(), strict=True):
                if url not in ("", INLINED):
                    yield url, table.keys.key(tuple(map(int, np.unravel_index(place, table.paths.shape))))


def is_manifest(candidate: Any) -> bool:
    """Return whether an object is a store or a group of manifests, or a dataset of xarray with one in a variable."""
    # without the modules there can be no object of theirs
    module, xarray = (sys.modules.get(name) for name in ("virtualizarr.manifests", "xarray"))
    if module is None or isinstance(candidate, module.ManifestStore | module.ManifestGroup):
        return module is not None
    return xarray is not None and isinstance(candidate, xarray.Dataset) and bool(_list_virtual(candidate))


def open_manifest(manifest: Any, name: str, options: Options) -> ReferenceStore:
    """Return manifests as a store; `name`: for messages. Raises ValueError for names with a slash.

    Variables of a dataset that were loaded become content, as xarray writes them;
    raises what xarray raises for those that it cannot write.
    """
    documents: dict[str, bytes] = {}
    tables: dict[str, ManifestTable] = {}
    if hasattr(manifest, "variables"):
        _add_dataset(manifest, documents, tables)
    else:
        _add_group(getattr(manifest, "_group", manifest), "", documents, tables)
    policy = Policy(os.getcwd(), options.reading.following)
    return ReferenceStore(ManifestReferences(documents, tables), policy, name, options.run.storage.of("source"))


def _list_virtual(dataset: Any) -> list[Any]:
    """Return the names of the variables of a dataset that are manifests."""
    kind = sys.modules["virtualizarr.manifests"].ManifestArray
    return [name for name, variable in dataset.variables.items() if isinstance(variable._data, kind)]


def _add_dataset(dataset: Any, documents: dict[str, bytes], tables: dict[str, ManifestTable]) -> None:
    """Add a dataset of xarray: documents of all variables, chunks of loaded ones, manifests of virtual ones."""
    from zarr.storage import MemoryStore

    nested = next((str(name) for name in dataset.variables if "/" in str(name)), None)
    if nested is not None:
        raise ValueError(f"the variable `{nested}` has a `/` in its name, which separates groups; rename it")
    virtual, written = _list_virtual(dataset), MemoryStore()
    dataset.drop_vars(virtual).to_zarr(written, zarr_format=3, consolidated=False)
    loaded = ObjectStore(written)
    documents |= {key: loaded.get(key) or b"" for key in loaded.keys("")}
    for name in virtual:
        variable = dataset.variables[name]
        _add_array(variable._data, f"{name}/", documents, tables)
        members = {"attributes": _as_json(variable.attrs), "dimension_names": list(map(str, variable.dims))}
        _change_document(documents, f"{name}/{DOCUMENT}", members)
    attributes = _as_json(dataset.attrs)
    others = [str(name) for name in dataset.coords if name not in dataset.dims]
    if others:
        attributes["coordinates"] = " ".join(others)  # as xarray writes those of no variable
    _change_document(documents, DOCUMENT, {"attributes": attributes})


def _change_document(documents: dict[str, bytes], key: str, members: Mapping[str, Any]) -> None:
    documents[key] = json.dumps(json.loads(documents[key]) | dict(members)).encode()


def _as_json(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes with NumPy's numbers and arrays as those of JSON."""
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in attributes.items()}


def _add_group(group: Any, prefix: str, documents: dict[str, bytes], tables: dict[str, ManifestTable]) -> None:
    documents[prefix + DOCUMENT] = _document(group.metadata)
    for name, array in group.arrays.items():
        _add_array(array, f"{prefix}{name}/", documents, tables)
    for name, inner in group.groups.items():
        _add_group(inner, f"{prefix}{name}/", documents, tables)


def _add_array(array: Any, prefix: str, documents: dict[str, bytes], tables: dict[str, ManifestTable]) -> None:
    """Add the document and the table of an array."""
    documents[prefix + DOCUMENT] = _document(array.metadata)
    encoding, manifest = array.metadata.chunk_key_encoding, array.manifest
    # Zarr v3: keys of `default` begin with `c`
    keys = ChunkKeys(prefix, encoding.separator, "c" if encoding.name == "default" else "")
    tables[prefix] = ManifestTable(keys, manifest._paths, manifest._offsets, manifest._lengths, manifest._inlined)


def _document(metadata: Any) -> bytes:
    from zarr.core.buffer import default_buffer_prototype

    buffers = metadata.to_buffer_dict(default_buffer_prototype())
    return bytes(buffers[DOCUMENT].to_bytes())


class ParserFaultError(Exception):
    """A parser that is missing, or that cannot read a file. `remedy`: what to do, if that is known."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy


def open_object(candidate: Any, options: Options) -> ReferenceStore | None:
    """Return manifests as a store; None for other objects. Raises ValueError for names with a slash."""
    return open_manifest(candidate, type(candidate).__name__, options) if is_manifest(candidate) else None


def parse(path: str, parser: str, report: Report, options: Options) -> ReferenceStore | None:
    """Return the references that a parser finds in a file; None after an error. Reports unusable-parser.

    Raises OSError.
    """
    try:
        return open_manifest(parse_source(path, parser), path, options)
    except ParserFaultError as fault:
        report.error("unusable-parser", f"`{show(path)}`: {fault}", helps=[fault.remedy] if fault.remedy else [])
        return None


INSTALL = "run `pip install virtualizarr obstore` with Python 3.12 or newer, and the package of the parser"

_CALL = re.compile(r"(?P<module>[\w.]+):(?P<name>\w+)(?P<arguments>\(.*\))?", re.DOTALL)


def parse_source(path: str, parser: str) -> Any:
    """Return the manifests of a file by a parser of VirtualiZarr. Raises ParserFaultError, OSError.

    `path`: a path or URL; `parser`: `module:Class`, with named literal arguments in parentheses if it has any.
    """
    match = _CALL.fullmatch(parser.strip())
    if match is None:
        raise ParserFaultError(f"`{parser}` is no parser", "write it as `virtualizarr.parsers:HDF4Parser`")
    arguments = _parse_arguments(parser, match["arguments"] or "()")
    try:
        module = import_module(match["module"])
        import virtualizarr.manifests  # noqa: F401  (the class by which `is_manifest` knows the result)
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore, from_url
    except ImportError as error:
        raise ParserFaultError(f"the parser `{parser}` cannot be imported ({error})", INSTALL) from error
    create = getattr(module, match["name"], None)
    if create is None:
        raise ParserFaultError(f"`{match['module']}` has no `{match['name']}`", *suggest(match["name"], dir(module)))
    if "://" in path:
        scheme, _, rest = path.partition("://")
        root = f"{scheme}://{rest.partition('/')[0]}"
        url, stores = path, {root: from_url(root, client_options={"allow_http": True})}
    else:
        os.stat(path)
        place = local_paths.absolute(path)
        if set("#%?") & set(place):
            raise ParserFaultError(f"`{match['name']}` finds no file with `#`, `%` or `?` in its path", "rename it")
        url, stores = f"file://{place}", {"file://": LocalStore()}  # parsers decode no URL
    try:
        manifest = create(**arguments)(url=url, registry=ObjectStoreRegistry(stores))
    except Exception as error:  # parsers raise anything
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).strip().partition("\n")[0]
        raise ParserFaultError(f"`{match['name']}` cannot read it: {type(error).__name__}: {reason}") from error
    if not is_manifest(manifest):
        raise ParserFaultError(f"`{parser}` returns `{type(manifest).__name__}`, not a `ManifestStore`")
    return manifest


def _parse_arguments(parser: str, text: str) -> dict[str, Any]:
    """Return the arguments of a call with names and literals alone. Raises ParserFaultError."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(keyword.arg for keyword in call.keywords):
            return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        pass
    raise ParserFaultError(f"`{parser}`: arguments have names and literals, such as `ifd=0`")
