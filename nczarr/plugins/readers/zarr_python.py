"""zarr-python 3.1.6 and 3.4.2: faults with Zarr v2 and v3 stores, in particular those of netCDF-C.

An array that cannot be opened breaks the listing of its group, so its faults
concern the group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.values.parts import POINTER
from nczarr.ast.rectilinear import read_lengths, total_of
from nczarr.formats.common.documents import find_content
from nczarr.plugins.readers import zarr_types
from nczarr.plugins.readers.documents import StoreNode, ZarrView, find_shape, integers, step
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults, of_arrays

SEEN = "3.1.6 and 3.4.2"
RELEASES = ("3.1", "3.4")
RECTILINEAR_SINCE = "3.3"
"""First release that reads rectilinear grids."""
RECTILINEAR_FLAG = "the setting `array.rectilinear_chunks`"
REFUSED = "cannot open it, nor list its group"

FAULTS = faults(
    SEEN,
    ("mixed-versions", "reads v3, and hides all v2 nodes", "write one version"),
    ("broken-document", REFUSED, "write the document again: `nczarr convert SRC DST`"),
    ("odd-format-number", "hides it, or cannot open it", "write the number of the version"),
    ("missing-member", "hides it", "write all members that the specification requires"),
    ("bad-shape", REFUSED, "write a list of lengths"),
    ("bad-chunks", REFUSED, "write one length above 0 for each axis"),
    ("missing-group", "hides its content", "write the document"),
    ("unknown-dtype", REFUSED, "a type that it supports: `nczarr convert SRC DST --to zarr2`",
     "3.1.6, of most types with 3.4.2"),
    ("nameless-codec", "cannot read it", "write the codec's name"),
    ("unread-codec", "cannot read it", "write another codec: `nczarr convert --codec`"),
    ("unsized-shuffle", "does not undo the shuffle of netCDF-C", "write the size of an element"),
    ("bad-fill", REFUSED, "write a value of the type; base64 for bytes and records"),
    ("odd-chunk", "cannot read it", "write all bytes of the chunk"),
    ("odd-separator", REFUSED, "write `.` or `/`"),
    ("stale-consolidation", "uses the consolidated ones", "write them again, or remove them"),
    ("unknown-member", REFUSED, 'remove it, or write an object with `"must_understand": false` in an array'),
    ("unknown-extension", REFUSED, "write `regular` grids and `default` keys"),
    ("bad-codecs", "cannot read it", "write one of `bytes`, `vlen-utf8`, `vlen-bytes`, `sharding_indexed`"),
    ("missing-names", REFUSED, "write one name for each axis, or no `dimension_names`"),
    ("surplus-names", REFUSED, "write one name for each axis, or no `dimension_names`"),
)  # fmt: skip

MEMBERS_2 = ("zarr_format", "shape", "dtype", "chunks", "fill_value", "order")
MEMBERS_3 = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
KNOWN_3 = {
    True: {"zarr_format", "node_type", "attributes", "dimension_names", "storage_transformers", *MEMBERS_3},
    False: {"zarr_format", "node_type", "attributes", "consolidated_metadata"},
}
"""Known members of `zarr.json`, of arrays and of groups."""

PACKERS = {"bytes", "vlen-utf8", "vlen-bytes", "sharding_indexed"}
"""Codecs of Zarr v3 that convert values to bytes."""


def find_documents(view: ZarrView) -> Iterator[Finding]:
    """Find documents that are missing, not strict JSON, or those of another version."""
    for document in view.read():
        if document.unstrict is not None:
            text = document.unstrict[:1].lower() + document.unstrict[1:]
            yield Finding("broken-document", document.key, "", f"the document is not strictly JSON: {text}")
        elif not isinstance(document.value, dict) and not document.key.endswith(".zattrs"):
            yield Finding("broken-document", document.key, "", "the document is not a JSON object")
    for node in view.lost:
        if node is view.root:
            text = f"the root has no `{node.key}`"
            yield node.at("missing-group", "", text, does="cannot open the store")
        elif node.has_arrays:
            yield node.at("missing-group", "", f"group `{node.path}` has no `{node.key.rpartition('/')[2]}`")
    for node in view.nodes:
        if view.version == 3 and view.documents.get(node.prefix + ".zgroup") is not None:
            yield node.at("mixed-versions", "", f"`{node.path}` has documents of Zarr v2 and v3")
        version = node.meta.get("zarr_format")
        is_object = node.document is not None and isinstance(node.document.value, dict)
        if is_object and version != node.version and not (version is None and node.is_array):
            does = REFUSED if node.is_array and node.version == 2 else "hides its content"
            where, text = "/zarr_format", f"`zarr_format` of `{node.path}` is {json.dumps(version)}"
            if version is None:
                where, text = "", f"`{node.path}` has no `zarr_format`"
            yield node.at("odd-format-number", where, text, does=does)
        for name, value in node.meta.items() if node.version == 3 else ():
            optional = isinstance(value, dict) and value.get("must_understand") is False
            if name not in KNOWN_3[node.is_array] and not (optional and node.is_array):
                text = f"the document of `{node.path}` has a member `{name}`"
                yield node.at("unknown-member", f"/{name}", text, until="3.4" if optional else "")


def find_kinds(view: ZarrView) -> Iterator[Finding]:
    """Find nodes of Zarr v3 that do not say what they are."""
    for node in view.nodes:
        if node.version == 3 and node.meta.get("node_type") is None and "shape" in node.meta:
            yield node.at("missing-member", "", f"`{node.path}` has no `node_type`", does=REFUSED)


def find_members(array: StoreNode) -> Iterator[Finding]:
    """Find members of an array's document that are missing, and other shapes, separators and extensions."""
    meta, path = array.meta, array.path
    for name in MEMBERS_2 if array.version == 2 else ("zarr_format", *MEMBERS_3):
        if name not in meta:
            refused = array.version == 2 and name in ("chunks", "fill_value", "order")
            yield array.at("missing-member", "", f"array `{path}` has no `{name}`", does=REFUSED if refused else "")
    yield from find_shape(array)
    separator = meta.get("dimension_separator", ".")
    if array.version == 2 and separator not in (".", "/"):
        text = f"the separator of `{path}` is {json.dumps(separator)}"
        yield array.at("odd-separator", "/dimension_separator", text)
    for member, usual in (("chunk_grid", {"regular"}), ("chunk_key_encoding", {"default", "v2"})):
        extension = meta.get(member)
        form = extension.get("name") if isinstance(extension, dict) else extension
        if array.version == 3 and member == "chunk_grid" and form == "rectilinear":
            yield from _find_rectilinear(array)
        elif array.version == 3 and isinstance(extension, str):
            yield array.at("unknown-extension", f"/{member}", f"`{member}` of `{path}` is a name without an object")
        elif array.version == 3 and member in meta and not (isinstance(form, str) and form in usual):
            yield array.at("unknown-extension", f"/{member}", f"`{member}` of `{path}` is `{form}`")
    if array.version == 3 and meta.get("storage_transformers"):
        text = f"`{path}` has storage transformers"
        yield array.at("unknown-extension", "/storage_transformers", text, does="ignores them")


def _find_rectilinear(array: StoreNode) -> Iterator[Finding]:
    """Find a rectilinear grid: no release reads it without a setting."""
    text, regular = f"`chunk_grid` of `{array.path}` is `rectilinear`", "write a regular grid: `nczarr convert SRC DST`"
    instead = f"{regular}, or read it with zarr-python {RECTILINEAR_SINCE} and {RECTILINEAR_FLAG}"
    yield array.at("unknown-extension", "/chunk_grid", text, instead=instead, until=RECTILINEAR_SINCE)
    does = f"{REFUSED}, without {RECTILINEAR_FLAG}"
    instead = f"call `zarr.config.set({{'array.rectilinear_chunks': True}})`, or {regular}"
    yield array.at("unknown-extension", "/chunk_grid", text, does=does, instead=instead, since=RECTILINEAR_SINCE)


def find_chunks(array: StoreNode) -> Iterator[Finding]:
    """Find chunks that do not fit the shape."""
    grid, shape, path = array.meta.get("chunk_grid"), array.shape, array.path
    stored_lengths, where = array.meta.get("chunks"), "/chunks"
    if array.version == 3:
        configuration = grid.get("configuration") if isinstance(grid, dict) else None
        stored_lengths = configuration.get("chunk_shape") if isinstance(configuration, dict) else None
        where = "/chunk_grid/configuration/chunk_shape"
        if isinstance(grid, dict) and grid.get("name") == "rectilinear":
            wrong = _wrong_shapes(grid, shape)
            if wrong:
                text, where = f"the chunks of `{path}` {wrong}", "/chunk_grid/configuration"
                yield array.at("bad-chunks", where, text, since=RECTILINEAR_SINCE)
            return
    lengths = integers(stored_lengths)
    if stored_lengths is None and (array.version == 3 or "chunks" not in array.meta):
        return
    if lengths is None or any(length < 0 for length in lengths) or (shape is not None and len(shape) != len(lengths)):
        yield array.at("bad-chunks", where, f"the chunks of `{path}` are not one length for each axis")
    elif 0 in lengths and 0 not in (shape or []):
        yield array.at("bad-chunks", where, f"a chunk length of `{path}` is 0", does="cannot read it")


def _wrong_shapes(grid: dict[str, Any], shape: list[int] | None) -> str:
    """Return what is wrong with the lengths of a rectilinear grid; empty for nothing."""
    configuration = grid.get("configuration")
    if not isinstance(configuration, dict) or configuration.get("kind") != "inline":
        return "are not of the kind `inline`"
    shapes = configuration.get("chunk_shapes")
    if not isinstance(shapes, list) or (shape is not None and len(shapes) != len(shape)):
        return "are not the lengths of each axis"
    for axis, written in enumerate(shapes):
        try:
            read_lengths(written)
        except ValueError:
            return f"have wrong lengths along axis {axis}"
        if shape is not None and isinstance(written, list) and total_of(written) < shape[axis]:
            return f"do not cover axis {axis}"
    return ""


def find_elements(array: StoreNode) -> Iterator[Finding]:
    """Find unknown types, and fill values that cannot be converted."""
    member, version = "dtype" if array.version == 2 else "data_type", array.version
    since = zarr_types.find_release(array.meta, version)
    if member in array.meta and since != "":
        dtype = array.meta[member]
        text = dtype if isinstance(dtype, str) else json.dumps(dtype)
        shown = "a record" if isinstance(dtype, list) else f"`{text}`"
        instead = f"write `|{text[1:]}`" if text[1:] in ("i1", "u1", "b1", "S1") else ""
        what = f"the type of `{array.path}` is {shown}"
        yield array.at("unknown-dtype", f"/{member}", what, instead=instead, until=since or "")
    if since is not None and "fill_value" in array.meta:
        value = array.meta["fill_value"]
        if zarr_types.refuses_fill(value, array.meta, version):
            text = f"the fill value of `{array.path}` is `{json.dumps(value, ensure_ascii=False)[:40]}`"
            yield array.at("bad-fill", "/fill_value", text, since=since)


def codecs(array: StoreNode) -> Iterator[tuple[str, Any, Any]]:
    """Yield the codecs of an array: pointer, name and members."""
    member = "codecs" if array.version == 3 else "filters"
    chain = array.meta.get(member)
    every = [(f"/{member}/{place}", codec) for place, codec in enumerate(chain if isinstance(chain, list) else ())]
    if array.version == 2 and array.meta.get("compressor") is not None:
        every.append(("/compressor", array.meta["compressor"]))
    for pointer, codec in every:
        name = codec.get("id" if array.version == 2 else "name") if isinstance(codec, dict) else None
        yield pointer, name, codec


def find_codecs(array: StoreNode) -> Iterator[Finding]:
    """Find codecs without a name, codecs that no release has, and chains that make no bytes."""
    path = array.path
    for pointer, name, codec in codecs(array):
        since = zarr_types.codec_since(name, array.version) if isinstance(name, str) else ""
        if not isinstance(name, str):
            yield array.at("nameless-codec", pointer, f"a codec of `{path}` has no name")
        elif since != "":
            yield array.at("unread-codec", pointer, f"`{path}` is encoded with `{name}`", until=since or "")
        if name == "shuffle" and codec.get("elementsize", 4) == 0:  # numcodecs takes 4 without it
            size = zarr_types.kind(array.meta, array.version)[1]
            by = POINTER if str(array.meta.get("dtype")).startswith("|S") else size
            text = f"shuffle of `{path}` has the element size 0"
            if size != 1:
                yield array.at("unsized-shuffle", f"{pointer}/elementsize", text, instead=f"write {by}" if by else "")
        if array.version == 3 and name == "bytes" and zarr_types.kind(array.meta, 3)[1] > 1:
            configuration = codec.get("configuration")
            if not (isinstance(configuration, dict) and "endian" in configuration):
                text = f"the codec `bytes` of `{path}` has no `endian`"
                yield array.at("bad-codecs", pointer, text, instead="write the byte order", since="3.4")
    if array.version == 3 and isinstance(array.meta.get("codecs"), list):
        packers = [name for _, name, _ in codecs(array) if isinstance(name, str) and name in PACKERS]
        if len(packers) != 1:
            yield array.at("bad-codecs", "/codecs", f"{len(packers)} codecs of `{path}` convert values to bytes")
        elif array.meta.get("data_type") == "string" and packers == ["bytes"]:
            yield array.at("bad-codecs", "/codecs", f"`{path}` holds strings and is encoded as `bytes`")


def find_odd_chunks(view: ZarrView) -> Iterator[Finding]:
    """Find chunks of the wrong length."""
    for array in view.arrays:
        size = zarr_types.kind(array.meta, array.version)[1] if array.version == 2 else 0
        if size and zarr_types.knows(array.meta, 2):
            yield from view.documents.find_odd_chunk(array, size)


def find_stale_documents(view: ZarrView) -> Iterator[Finding]:
    """Find consolidated metadata that differ from the store."""
    key, pointer, consolidated = _read_consolidated(view)
    if consolidated is None:
        return
    for name, document in consolidated.items():
        stored = f"{name}/zarr.json" if view.version == 3 else name
        is_filled = "/" in stored.lstrip("/") and find_content(document, stored) is not None
        if is_filled and view.documents.get(stored) is None:
            text = f"the consolidated metadata have `{name}`, which does not exist"
            yield Finding("stale-consolidation", key, f"{pointer}/{step(name)}", text, "reads it")
    for node in view.nodes:
        for name, document in _documents(node) if node.version == 2 or node is not view.root else ():
            if name not in consolidated:
                text, does = f"the consolidated metadata lack `{name}`", f"ignores `{name}`"
                yield Finding("stale-consolidation", key, pointer, text, does)
            elif find_content(consolidated[name], name) != find_content(document, name):
                text = f"the consolidated metadata differ from `{name}`"
                yield Finding("stale-consolidation", key, f"{pointer}/{step(name)}", text, "uses them")


def _documents(node: StoreNode) -> list[tuple[str, Any]]:
    if node.version == 3:
        return [(node.prefix.rstrip("/"), node.meta)]
    documents = [document for document in (node.document, node.attributes) if document is not None]
    return [(document.key, document.value) for document in documents if document.unstrict is None]


def _read_consolidated(view: ZarrView) -> tuple[str, str, dict[str, Any] | None]:
    """Return the key, JSON pointer and members of consolidated metadata; None without any."""
    if view.version == 3:
        consolidated = view.root.meta.get("consolidated_metadata")
        documents = consolidated.get("metadata") if isinstance(consolidated, dict) else None
        return "zarr.json", "/consolidated_metadata/metadata", documents if isinstance(documents, dict) else None
    document = view.documents.get(".zmetadata")
    if document is None or not isinstance(document.value, dict):
        return ".zmetadata", "", None
    documents = document.value.get("metadata")
    return ".zmetadata", "/metadata", documents if isinstance(documents, dict) else {}


def axes(array: StoreNode) -> tuple[Any, str, str]:
    """Return the dimension names of an array as stored, with their key and pointer."""
    if array.version == 3:
        return array.meta.get("dimension_names"), array.key, "/dimension_names"
    return array.attrs.get("_ARRAY_DIMENSIONS"), array.attrs_key, "/_ARRAY_DIMENSIONS"


def name_count(array: StoreNode) -> tuple[Finding, int] | None:
    """Return a finding of more or fewer names than axes, and how many more; None for as many."""
    axis_names, key, pointer = axes(array)
    if array.shape is None or not isinstance(axis_names, list | str) or len(axis_names) == len(array.shape):
        return None
    surplus = len(axis_names) - len(array.shape)
    text = f"`{array.path}` has {len(array.shape)} axes, but names {len(axis_names)}"
    return Finding("surplus-names" if surplus > 0 else "missing-names", key, pointer, text), surplus


def find_name_counts(view: ZarrView) -> Iterator[Finding]:
    """Find arrays of Zarr v3 with more or fewer names than axes."""
    for array in view.arrays if view.version == 3 else ():
        counted = name_count(array)
        if counted is not None:
            yield counted[0]


FIND = (
    find_documents,
    of_arrays(find_members, find_chunks, find_elements, find_codecs),
    find_kinds,
    find_odd_chunks,
    find_stale_documents,
)
"""Functions that find the faults that xarray shares."""

PEER = Peer(
    "zarr-python",
    "zarr-python",
    SEEN,
    FAULTS,
    (*FIND, find_name_counts),
    ZarrView,
    releases=RELEASES,
    references=True,
)
