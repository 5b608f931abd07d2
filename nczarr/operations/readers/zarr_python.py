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
from nczarr.operations.readers import zarr_types
from nczarr.operations.readers.documents import StoreNode, ZarrView, step
from nczarr.operations.readers.netcdf_c.view import holds, integers
from nczarr.operations.readers.rule import FindingPlace, Peer, Rules

SEEN = "3.1.6 and 3.4.2"
RELEASES = ("3.1", "3.4")
RECTILINEAR_SINCE = "3.3"
"""First release that reads rectilinear grids."""
RECTILINEAR_FLAG = "the setting `array.rectilinear_chunks`"
REFUSED = "cannot open it, nor list its group"
RULES = Rules(SEEN)
MEMBERS_3 = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
KNOWN_3 = {
    True: {"zarr_format", "node_type", "attributes", "dimension_names", "storage_transformers", *MEMBERS_3},
    False: {"zarr_format", "node_type", "attributes", "consolidated_metadata"},
}
"""Known members of `zarr.json`, of arrays and of groups."""


@RULES.add("mixed-versions", "reads v3, and hides all v2 nodes", "write one version")
def mixed(view: ZarrView) -> Iterator[FindingPlace]:
    """Find groups in both versions."""
    for node in view.nodes if view.version == 3 else ():
        if view.documents.get(node.prefix + ".zgroup") is not None:
            yield FindingPlace(node.key, "", f"`{node.path}` has documents of Zarr v2 and v3")


@RULES.add("broken-document", REFUSED, "write the document again: `nczarr convert SRC DST`")
def broken(view: ZarrView) -> Iterator[FindingPlace]:
    """Find documents that are not strict JSON."""
    for document in view.read():
        if document.unstrict is not None:
            yield FindingPlace(document.key, "", f"the document is not strictly JSON: {_lowered(document.unstrict)}")
        elif not isinstance(document.value, dict) and not document.key.endswith(".zattrs"):
            yield FindingPlace(document.key, "", "the document is not a JSON object")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


@RULES.add("odd-format-number", "hides it, or cannot open it", "write the number of the version")
def format_number(view: ZarrView) -> Iterator[FindingPlace]:
    """Find wrong version numbers."""
    for node in view.nodes:
        version = node.meta.get("zarr_format", None)
        if not isinstance(node.document and node.document.value, dict) or (version is None and node.is_array):
            continue
        if version != node.version:
            does = REFUSED if node.is_array and node.version == 2 else "hides its content"
            text = (
                f"`zarr_format` of `{node.path}` is {json.dumps(version)}"
                if version is not None
                else f"`{node.path}` has no `zarr_format`"
            )
            yield FindingPlace(node.key, "/zarr_format" if version is not None else "", text, does=does)


@RULES.add("missing-member", "hides it", "write all members that the specification requires")
def missing_members(view: ZarrView) -> Iterator[FindingPlace]:
    """Find missing required members."""
    for array in view.arrays:
        demanded = ("zarr_format", "shape", "dtype", "chunks", "fill_value", "order")
        for name in demanded if array.version == 2 else ("zarr_format", *MEMBERS_3):
            if name not in array.meta:
                refused = array.version == 2 and name in ("chunks", "fill_value", "order")
                yield FindingPlace(
                    array.key, "", f"array `{array.path}` has no `{name}`", does=REFUSED if refused else ""
                )
    for node in view.nodes:
        if node.version == 3 and node.meta.get("node_type") is None and "shape" in node.meta:
            yield FindingPlace(node.key, "", f"`{node.path}` has no `node_type`", does=REFUSED)


@RULES.add("bad-shape", REFUSED, "write a list of lengths")
def shapes(view: ZarrView) -> Iterator[FindingPlace]:
    """Find invalid shapes."""
    for array in view.arrays:
        shape = integers(array.meta.get("shape", []))
        if shape is None or any(length < 0 for length in shape):
            yield FindingPlace(array.key, "/shape", f"the shape of `{array.path}` is not a list of lengths")


def chunk_lengths(array: StoreNode) -> tuple[Any, str]:
    """Return the chunk lengths of an array as stored, with their pointer."""
    if array.version == 2:
        return array.meta.get("chunks"), "/chunks"
    grid = array.meta.get("chunk_grid")
    configuration = grid.get("configuration") if isinstance(grid, dict) else None
    lengths = configuration.get("chunk_shape") if isinstance(configuration, dict) else None
    return lengths, "/chunk_grid/configuration/chunk_shape"


@RULES.add("bad-chunks", REFUSED, "write one length above 0 for each axis")
def chunks(view: ZarrView) -> Iterator[FindingPlace]:
    """Find chunks that do not fit the shape."""
    for array in view.arrays:
        stored_lengths, pointer = chunk_lengths(array)
        lengths, shape = integers(stored_lengths), integers(array.meta.get("shape"))
        if _is_rectilinear(array):
            wrong = _wrong_shapes(array.meta["chunk_grid"], shape)
            if wrong:
                text = f"the chunks of `{array.path}` {wrong}"
                yield FindingPlace(array.key, "/chunk_grid/configuration", text, since=RECTILINEAR_SINCE)
            continue
        if stored_lengths is None and (array.version == 3 or "chunks" not in array.meta):
            continue
        if (
            lengths is None
            or any(length < 0 for length in lengths)
            or (shape is not None and len(shape) != len(lengths))
        ):
            yield FindingPlace(array.key, pointer, f"the chunks of `{array.path}` are not one length for each axis")
        elif 0 in lengths and 0 not in (shape or []):
            yield FindingPlace(array.key, pointer, f"a chunk length of `{array.path}` is 0", does="cannot read it")


def _is_rectilinear(array: StoreNode) -> bool:
    grid = array.meta.get("chunk_grid")
    return array.version == 3 and isinstance(grid, dict) and grid.get("name") == "rectilinear"


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


@RULES.add("missing-group", "hides its content", "write the document")
def no_group(view: ZarrView) -> Iterator[FindingPlace]:
    """Find groups without a document."""
    for node in view.lost:
        if node is view.root:
            yield FindingPlace(node.key, "", f"the root has no `{node.key}`", does="cannot open the store")
        elif holds(node):
            yield FindingPlace(node.key, "", f"group `{node.path}` has no `{node.key.rpartition('/')[2]}`")


@RULES.add(
    "unknown-dtype",
    REFUSED,
    "a type that it supports: `nczarr convert SRC DST --to zarr2`",
    seen="3.1.6, of most types with 3.4.2",
)
def dtypes(view: ZarrView) -> Iterator[FindingPlace]:
    """Find unknown dtypes."""
    for array in view.arrays:
        member = "dtype" if array.version == 2 else "data_type"
        since = zarr_types.known_since(array.meta, array.version)
        if member in array.meta and since != "":
            dtype = array.meta[member]
            text = dtype if isinstance(dtype, str) else json.dumps(dtype)
            shown = "a record" if isinstance(dtype, list) else f"`{text}`"
            instead = f"`|{text[1:]}`" if text[1:] in ("i1", "u1", "b1", "S1") else ""
            text = f"the type of `{array.path}` is {shown}"
            instead = f"write {instead}" if instead else ""
            yield FindingPlace(array.key, f"/{member}", text, instead=instead, until=since or "")


def codecs(array: StoreNode) -> Iterator[tuple[str, Any]]:
    """Yield the codecs of an array with their pointers."""
    if array.version == 3:
        chain = array.meta.get("codecs")
        for place, codec in enumerate(chain if isinstance(chain, list) else ()):
            yield f"/codecs/{place}", codec
        return
    filters = array.meta.get("filters")
    for place, codec in enumerate(filters if isinstance(filters, list) else ()):
        yield f"/filters/{place}", codec
    if array.meta.get("compressor") is not None:
        yield "/compressor", array.meta["compressor"]


def _name(codec: Any, version: int) -> Any:
    return codec.get("id" if version == 2 else "name") if isinstance(codec, dict) else None


@RULES.add("nameless-codec", "cannot read it", "write the codec's name")
def nameless_codecs(view: ZarrView) -> Iterator[FindingPlace]:
    """Find codecs without a name."""
    for array in view.arrays:
        for pointer, codec in codecs(array):
            if not isinstance(_name(codec, array.version), str):
                yield FindingPlace(array.key, pointer, f"a codec of `{array.path}` has no name")


@RULES.add("unread-codec", "cannot read it", "write another codec: `nczarr convert --codec`")
def unread_codecs(view: ZarrView) -> Iterator[FindingPlace]:
    """Find unsupported codecs."""
    for array in view.arrays:
        for pointer, codec in codecs(array):
            name = _name(codec, array.version)
            since = zarr_types.codec_since(name, array.version) if isinstance(name, str) else ""
            if since != "":
                text = f"`{array.path}` is encoded with `{name}`"
                yield FindingPlace(array.key, pointer, text, until=since or "")


@RULES.add("unsized-shuffle", "does not undo the shuffle of netCDF-C", "write the size of an element")
def unsized_shuffles(view: ZarrView) -> Iterator[FindingPlace]:
    """Find shuffle without element size."""
    for array in view.arrays:
        for pointer, codec in codecs(array):
            size = zarr_types.kind(array.meta, array.version)[1]
            if _name(codec, array.version) == "shuffle" and codec.get("elementsize", 4) == 0 and size != 1:
                text = f"shuffle of `{array.path}` has the element size 0"
                if str(array.meta.get("dtype")).startswith("|S"):
                    size = POINTER
                yield FindingPlace(array.key, f"{pointer}/elementsize", text, instead=f"write {size}" if size else "")


@RULES.add("bad-fill", REFUSED, "write a value of the type; base64 for bytes and records")
def fills(view: ZarrView) -> Iterator[FindingPlace]:
    """Find fill values that cannot be converted."""
    for array in view.arrays:
        since = zarr_types.known_since(array.meta, array.version)
        if since is None or "fill_value" not in array.meta:
            continue
        value = array.meta["fill_value"]
        if zarr_types.refuses_fill(value, array.meta, array.version):
            yield FindingPlace(
                array.key,
                "/fill_value",
                f"the fill value of `{array.path}` is `{json.dumps(value, ensure_ascii=False)[:40]}`",
                since=since,
            )


@RULES.add("odd-chunk", "cannot read it", "write all bytes of the chunk")
def odd_chunks(view: ZarrView) -> Iterator[FindingPlace]:
    """Find chunks of the wrong length."""
    for array in view.arrays:
        size = zarr_types.kind(array.meta, array.version)[1] if array.version == 2 else 0
        if size and zarr_types.knows(array.meta, 2):
            for key, length, expected in view.documents.odd_lengths(array, size):
                yield FindingPlace(
                    key, "", f"a chunk of `{array.path}` has {length} bytes, but chunks of its array have {expected}"
                )
                break


@RULES.add("odd-separator", REFUSED, "write `.` or `/`")
def separators(view: ZarrView) -> Iterator[FindingPlace]:
    """Find unknown separators."""
    for array in view.arrays:
        separator = array.meta.get("dimension_separator", ".")
        if array.version == 2 and separator not in (".", "/"):
            yield FindingPlace(
                array.key, "/dimension_separator", f"the separator of `{array.path}` is {json.dumps(separator)}"
            )


@RULES.add("stale-consolidation", "uses the consolidated ones", "write them again, or remove them")
def stale(view: ZarrView) -> Iterator[FindingPlace]:
    """Find consolidated metadata that differ from the store."""
    key, pointer, consolidated = _consolidated(view)
    if consolidated is None:
        return
    for node in view.nodes:
        for name, document in _documents(node):
            if node is view.root and node.version == 3:
                continue
            if name not in consolidated:
                yield FindingPlace(key, pointer, f"the consolidated metadata lack `{name}`", does=f"ignores `{name}`")
            elif _meant(consolidated[name]) != _meant(document):
                where = f"{pointer}/{step(name)}"
                yield FindingPlace(key, where, f"the consolidated metadata differ from `{name}`", does="uses them")


def _meant(document: Any) -> str:
    """Return the content of a document without redundant and empty members."""
    if not isinstance(document, dict):
        return json.dumps(document)
    members = {
        name: value
        for name, value in document.items()
        if name != "consolidated_metadata" and value not in (None, [], {})
    }
    return json.dumps(members, sort_keys=True)


def _documents(node: StoreNode) -> Iterator[tuple[str, Any]]:
    if node.version == 3:
        yield node.prefix.rstrip("/"), node.meta
        return
    for document in (node.document, node.attributes):
        if document is not None and document.unstrict is None:
            yield document.key, document.value


def _consolidated(view: ZarrView) -> tuple[str, str, dict[str, Any] | None]:
    if view.version == 3:
        consolidated = view.root.meta.get("consolidated_metadata")
        documents = consolidated.get("metadata") if isinstance(consolidated, dict) else None
        return "zarr.json", "/consolidated_metadata/metadata", documents if isinstance(documents, dict) else None
    document = view.documents.get(".zmetadata")
    if document is None or not isinstance(document.value, dict):
        return ".zmetadata", "", None
    documents = document.value.get("metadata")
    return ".zmetadata", "/metadata", documents if isinstance(documents, dict) else {}


@RULES.add("unknown-member", REFUSED, 'remove it, or write an object with `"must_understand": false` in an array')
def unknown_members(view: ZarrView) -> Iterator[FindingPlace]:
    """Find unknown members of `zarr.json`."""
    for node in view.nodes:
        if node.version != 3 or not isinstance(node.meta, dict):
            continue
        for name, value in node.meta.items():
            optional = isinstance(value, dict) and value.get("must_understand") is False
            if name not in KNOWN_3[node.is_array] and not (optional and node.is_array):
                text = f"the document of `{node.path}` has a member `{name}`"
                yield FindingPlace(node.key, f"/{name}", text, until="3.4" if optional else "")


@RULES.add("unknown-extension", REFUSED, "write `regular` grids and `default` keys")
def unknown_extensions(view: ZarrView) -> Iterator[FindingPlace]:
    """Find unknown chunk grids and chunk key encodings."""
    for array in view.arrays:
        for member, names_in_use in (("chunk_grid", {"regular"}), ("chunk_key_encoding", {"default", "v2"})):
            extension = array.meta.get(member)
            name = extension.get("name") if isinstance(extension, dict) else extension
            if array.version == 3 and member == "chunk_grid" and name == "rectilinear":
                yield from _rectilinear(array)
            elif array.version == 3 and member in array.meta and not (isinstance(name, str) and name in names_in_use):
                yield FindingPlace(array.key, f"/{member}", f"`{member}` of `{array.path}` is `{name}`")
        if array.version == 3 and array.meta.get("storage_transformers"):
            text = f"`{array.path}` has storage transformers"
            yield FindingPlace(array.key, "/storage_transformers", text, does="ignores them")


def _rectilinear(array: StoreNode) -> Iterator[FindingPlace]:
    """Yield the places of a rectilinear grid: no release reads it without a setting."""
    text, pointer = f"`chunk_grid` of `{array.path}` is `rectilinear`", "/chunk_grid"
    regular = "write a regular grid: `nczarr convert SRC DST`"
    yield FindingPlace(
        array.key,
        pointer,
        text,
        instead=f"{regular}, or read it with zarr-python {RECTILINEAR_SINCE} and {RECTILINEAR_FLAG}",
        until=RECTILINEAR_SINCE,
    )
    yield FindingPlace(
        array.key,
        pointer,
        text,
        does=f"{REFUSED}, without {RECTILINEAR_FLAG}",
        instead=f"call `zarr.config.set({{'array.rectilinear_chunks': True}})`, or {regular}",
        since=RECTILINEAR_SINCE,
    )


@RULES.add("bad-codecs", "cannot read it", "write one of `bytes`, `vlen-utf8`, `vlen-bytes`, `sharding_indexed`")
def codec_chains(view: ZarrView) -> Iterator[FindingPlace]:
    """Find codec chains without exactly one array-to-bytes codec."""
    makers = {"bytes", "vlen-utf8", "vlen-bytes", "sharding_indexed"}
    for array in view.arrays:
        chain = array.meta.get("codecs")
        if array.version != 3 or not isinstance(chain, list):
            continue
        packers = [name for name in (_name(codec, 3) for codec in chain) if isinstance(name, str) and name in makers]
        text = array.meta.get("data_type") == "string"
        if len(packers) != 1:
            yield FindingPlace(array.key, "/codecs", f"{len(packers)} codecs of `{array.path}` convert values to bytes")
        elif text and packers == ["bytes"]:
            yield FindingPlace(array.key, "/codecs", f"`{array.path}` holds strings and is encoded as `bytes`")


def axes(array: StoreNode) -> tuple[Any, str, str]:
    """Return the dimension names of an array as stored, with their key and pointer."""
    if array.version == 3:
        return array.meta.get("dimension_names"), array.key, "/dimension_names"
    return array.attrs.get("_ARRAY_DIMENSIONS"), array.attrs_key, "/_ARRAY_DIMENSIONS"


def name_counts(view: ZarrView, *, more: bool) -> Iterator[FindingPlace]:
    """Find arrays with more (`more`) or fewer names than axes."""
    for array in view.arrays:
        axis_names, key, pointer = axes(array)
        shape = integers(array.meta.get("shape"))
        if (
            shape is not None
            and isinstance(axis_names, list | str)
            and len(axis_names) != len(shape)
            and (len(axis_names) > len(shape)) == more
        ):
            yield FindingPlace(key, pointer, f"`{array.path}` has {len(shape)} axes, but names {len(axis_names)}")


@RULES.add("missing-names", REFUSED, "write one name for each axis, or no `dimension_names`")
def few_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find Zarr v3 arrays with fewer names than axes."""
    if view.version == 3:
        yield from name_counts(view, more=False)


@RULES.add("surplus-names", REFUSED, "write one name for each axis, or no `dimension_names`")
def many_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find Zarr v3 arrays with more names than axes."""
    if view.version == 3:
        yield from name_counts(view, more=True)


PEER = Peer("zarr-python", "zarr-python", SEEN, tuple(RULES), ZarrView, releases=RELEASES)
