"""`zarr3`: any pure Zarr v3 store → `Unchecked`, consolidated or not; and the reader of v3 documents.

Source: the Zarr v3 core specification, `sharding_indexed` and zarr-python's
names for numcodecs.
"""

from typing import Any

from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.codecs.chain import with_fill
from nczarr.arrays.sources.source import Descr, big_descr, itemsize
from nczarr.arrays.values.elements import in_order, with_times
from nczarr.ast import ATOMIC, Constant
from nczarr.ast.plain_json import JsonConstant, write_json
from nczarr.ast.rectilinear import Lengths, read_lengths, total_of
from nczarr.diagnostics.report import Report, Severity
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core import hierarchy
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, chain, chunk_lengths, lengths, sensible
from nczarr.formats.zarr.core.fill_values import FAULTS
from nczarr.formats.zarr.core.reader import BadDocumentError, NodeReader, adapt, axes_of
from nczarr.formats.zarr.extension.model import LARGEST_LENGTH, unpack_attributes
from nczarr.formats.zarr.v3 import DOCUMENT, dtypes
from nczarr.formats.zarr.v3.declared_attributes import undeclare
from nczarr.formats.zarr.v3.draft_marks import find_dialect, has_types, unread_members, without_types
from nczarr.formats.zarr.v3.read_codecs import Chain, read_chain, split_name
from nczarr.options import Options, RunOptions
from nczarr.registry import ChunkKeys
from nczarr.semantics.checked import Unchecked
from nczarr.stores.base import Store
from nczarr.syntax.json.positions import pointer

_MEMBERS = frozenset(
    {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
     "attributes", "storage_transformers", "dimension_names", "consolidated_metadata"}  # the last one is zarr-python's
)  # fmt: skip

_DRAFT_2020 = "https://purl.org/zarr/spec/protocol/core/"  # the draft named itself by a URI
"""Begin of `zarr_format` in the entry document of the draft; that of 2019 has no such document."""

_LONGEST = 60
"""Maximum characters of a value in a message."""


def holds(store: Store) -> bool:
    """Return whether the root has a `zarr.json` without netCDF-C's metadata (else `nczarr3`)."""
    if store.get(DOCUMENT) is None:
        return False
    return not Zarr3Reader(DocumentCache(store, Report(), RunOptions())).is_netcdf


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a store. Reports unreadable parts; raises OSError."""
    reader = Zarr3Reader(DocumentCache(store, report, options.run))
    return hierarchy.read(reader) if reader.has_valid_root() else None


class Zarr3Reader(NodeReader):
    """Documents of Zarr v3."""

    axes_member = "dimension_names"
    consolidated_key = DOCUMENT
    names = (DOCUMENT,)

    def __init__(self, documents: DocumentCache) -> None:
        """Begin with the consolidated metadata of the root's `zarr.json`, by keys of documents."""
        super().__init__(documents)
        self._announced: set[str] = set()
        """Prefixes of nodes with reported draft members."""
        self._adapted: dict[str, Json] = {}
        """Documents with what plugins read for a data type or chunk grid."""
        consolidated = (documents.get(DOCUMENT) or {}).get("consolidated_metadata")  # zarr-python's place
        members = consolidated.get("metadata") if isinstance(consolidated, dict) else None
        if isinstance(members, dict):
            members = {f"{path}/{DOCUMENT}": member for path, member in members.items() if path}
        documents.consolidate(members, whole=True)
        self._draft = find_dialect(documents, self._read_node)

    @property
    def is_netcdf(self) -> bool:
        """True if the root has netCDF-C's metadata: a superblock, or a group of its draft."""
        if self._draft is not None and self.is_group(""):
            return True
        return self.read_hidden("", "superblock")[0] is not None

    def _read_node(self, prefix: str) -> Json:
        return self._adapted.get(prefix) or self.documents.get(prefix + DOCUMENT) or {}

    def has_valid_root(self) -> bool:
        """Return whether the root is a group or array of Zarr v3; report a document that is neither."""
        fault = self.find_fault("")
        if fault is not None:
            message, member = fault
            self.documents.warn("unknown-format", message, DOCUMENT, member, Severity.ERROR)
        return fault is None

    def find_fault(self, prefix: str) -> tuple[str, str] | None:
        """Return why a document is no node of Zarr v3, and a JSON pointer to the cause; None for a node."""
        document = self.documents.get(prefix + DOCUMENT)
        if document is None:
            return None
        node = f"`/{prefix[:-1]}`"
        written = document.get("zarr_format")
        if isinstance(written, str) and written.startswith(_DRAFT_2020):
            return f"{node} is of the draft of 2020 of Zarr v3 (`{written}`), which is not read", pointer("zarr_format")
        for member, values in (("zarr_format", (3,)), ("node_type", ("group", "array"))):
            expected = " or ".join(map(write_json, values))
            if member not in document:
                return f"{node} is neither a group nor an array: member `{member}` is missing, which is {expected}", ""
            value = document[member]
            if value not in values or type(value) is bool:
                shown = write_json(value)
                shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
                return f"{node} is neither a group nor an array: `{member}` is {shown}, not {expected}", pointer(member)
        return None

    def is_array(self, prefix: str) -> bool:
        return self._read_node(prefix).get("node_type") == "array"

    def is_group(self, prefix: str) -> bool:
        return self._read_node(prefix).get("node_type") == "group"

    def key(self, prefix: str) -> str:
        return prefix + DOCUMENT

    def attributes(self, prefix: str) -> Json:
        """Return `attributes`, without the types of netCDF-C's draft."""
        document = self._read_node(prefix)
        written = document.get("attributes")
        attributes = unpack_attributes(undeclare(written)) if isinstance(written, dict) else {}
        if prefix not in self._announced:
            self._announced.add(prefix)
            self._report_members(prefix + DOCUMENT, document, attributes)
        return without_types(attributes) if self._draft is not None or has_types(attributes) else attributes

    def _report_members(self, key: str, document: Json, attributes: Json) -> None:
        """Report members of a node that are not read; `describe` reports those that arrays need."""
        if not isinstance(document.get("attributes"), dict | None):
            self.documents.report_lost("bad-metadata", "`attributes` is not a JSON object", key, pointer("attributes"))
        if self._draft is not None:
            return
        for name in sorted(document.keys() - _MEMBERS):
            if name.startswith("_nczarr_"):
                continue  # of `unread_members`
            if _is_optional(document[name]):  # the specification: others must be understood
                text = f"member `{name}` is not part of the protocol and is not read"
                self.documents.warn("foreign-member", text, key, pointer(name))
            elif document.get("node_type") == "group":
                text = f"the group has a member `{name}` that must be understood"
                self.documents.report_lost("unreadable-array", text, key, pointer(name))
        for message, where in unread_members(document, attributes):
            self.documents.report_lost("draft-layout", message, key, where)

    def read_hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        if self._draft is not None:
            return self._draft.read_hidden(prefix, what), self.key(prefix)
        return super().read_hidden(prefix, what)

    def read_declared_types(self, prefix: str) -> Json | None:
        """Return `_nczarr_attr` of a draft's array that is opened alone."""
        return None if self._draft is None else self._draft.read_hidden(prefix, "attr")

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        """Return the attribute `_FillValue` in the type of its variable; None if it is no such value."""
        if type_name not in ATOMIC:
            return None
        try:
            return dtypes.fill_of_attribute(type_name, value)
        except FAULTS:
            return None

    def show_fill(self, constant: Constant) -> JsonConstant:
        return dtypes.fill_attribute(constant)

    def describe(self, prefix: str) -> ArrayMetadata:
        """Read the `zarr.json` of an array; raise BadDocumentError for what is invalid or unknown, to plugins too."""
        try:
            return self._describe(prefix, self._read_node(prefix))
        except BadDocumentError as fault:
            if fault.member not in ("data_type", "chunk_grid"):
                raise
        self._adapted[prefix] = adapt(self.documents, prefix + DOCUMENT, self._read_node(prefix))
        return self._describe(prefix, self._adapted[prefix])

    def _describe(self, prefix: str, document: Json) -> ArrayMetadata:
        if document.get("zarr_format") != 3:
            raise BadDocumentError("the document is not of Zarr format 3", "zarr_format")
        for name in sorted(document.keys() - _MEMBERS):
            if not _is_optional(document[name]):
                text = f"the document has a member `{name}` that must be understood"
                raise BadDocumentError(text, name, "unreadable-array")
        transformers = document.get("storage_transformers")
        if transformers:
            listed = transformers if isinstance(transformers, list) else [transformers]
            named = ", ".join(f"`{split_name(item, 'storage_transformers')[0]}`" for item in listed)
            text = f"storage transformers are unknown: {named}"
            raise BadDocumentError(text, "storage_transformers", "unreadable-array")
        shape = lengths(document.get("shape"))
        if shape is None:
            raise BadDocumentError("the shape is not a list of lengths", "shape")
        if not sensible(shape):
            raise BadDocumentError("the array has more than 2⁶³ - 1 cells", "shape", "unreadable-array")
        chunks = _read_grid(document.get("chunk_grid"), shape)
        chunk_keys = _read_keys(document.get("chunk_key_encoding")).below(prefix)
        written = self._dtype(document.get("data_type"), prefix)
        codecs = read_chain(document.get("codecs"), chunks, written)
        if (written == "|O") is not bool(codecs.texts):
            raise BadDocumentError("the codecs do not suit the data type", "codecs")
        dtype = big_descr(written) if codecs.big else written
        fill = self._fill(written, dtype, document, codecs, prefix)
        attributes, axes = self.attributes(prefix), document.get("dimension_names")
        if axes is None:  # zarr-python leaves the names there, where it migrates a store of Zarr v2
            axes = attributes.get("_ARRAY_DIMENSIONS")
        steps = _with_fill(codecs.steps, fill, dtype)
        encoding = Encoding(dtype, steps, codecs.permutation, codecs.index_steps, codecs.index_first)
        return ArrayMetadata(
            prefix + DOCUMENT,
            prefix,
            shape,
            codecs.inner or chunks,
            encoding,
            fill,
            chain([*codecs.steps]),
            chunks if codecs.inner is not None else None,
            with_times(attributes, dtype, fill),
            axes_of(axes),
            chunk_keys,
            codecs.texts == "vlen-bytes",
        )

    def _dtype(self, written: Any, prefix: str) -> Descr:
        """Return the dtype of the elements, little-endian."""
        try:
            little = dtypes.descr(written)
            _check(little)
        except FAULTS as fault:
            raise BadDocumentError(f"the model has no type for {fault}", "data_type", "unreadable-array") from fault
        return little if self._draft is None else self._draft.dtype(prefix, little)

    def _fill(self, little: Descr, dtype: Descr, document: Json, codecs: Chain, prefix: str) -> bytes | None:
        """Return one element in the dtype; None (reported) for an invalid or missing `fill_value`."""
        key = prefix + DOCUMENT
        if "fill_value" not in document:
            self.documents.report_lost("bad-metadata", "the array has no `fill_value`", key)
            return None
        draft, written = self._draft, document["fill_value"]
        if draft is not None and written is None:
            return None  # no fill
        if draft is not None and draft.is_text(document, little):
            return self.fill(key, lambda: draft.fill_bytes(little, written))
        data = self.fill(key, lambda: dtypes.fill_bytes(little, written, utf8=codecs.texts != "vlen-bytes"))
        return None if data is None else in_order(data, little, dtype)


def _is_optional(member: Any) -> bool:
    """Return whether readers may ignore an unknown member of a document."""
    return isinstance(member, dict) and member.get("must_understand") is False


def _with_fill(steps: tuple[Json, ...], fill: bytes | None, dtype: Descr) -> tuple[Json, ...]:
    """Return the steps with the fill value of shards among them."""
    if not any(step.get("id") == "sharding_indexed" for step in steps):
        return steps
    size = itemsize(dtype)
    try:
        return with_fill(steps, (fill or b"").ljust(size, b"\0"))
    except ValueError as fault:
        raise BadDocumentError(f"the codecs cannot encode the fill value: {fault}", "codecs") from fault


def _check(descr: Descr) -> None:
    """Raise ValueError for elements of no bytes or too many."""
    if not isinstance(descr, str):
        for _, field, _ in descr:
            _check(field)
    elif descr != "|O" and not 0 < itemsize(descr) < 2**30:
        raise ValueError(f"elements of {itemsize(descr)} bytes")


def _read_grid(written: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunk lengths of a `chunk_grid`; raise BadDocumentError if it is unknown or does not fit the shape."""
    name, configuration = split_name(written, "chunk_grid")
    if name == "rectilinear":
        return read_rectilinear(configuration, shape)
    chunks = chunk_lengths(configuration.get("chunk_shape"), shape)
    if name != "regular":
        raise BadDocumentError(f"chunk grid `{name}` is unknown", "chunk_grid", "unreadable-array")
    if chunks is None:
        raise BadDocumentError("the chunks are not a list of one length for each dimension", "chunk_grid")
    return chunks


def read_rectilinear(configuration: Json, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunk lengths of a rectilinear grid, which may end beyond the array as in zarr-python.

    ::

        {"kind": "inline", "chunk_shapes": [[365, 365, [366, 2]], 90]}

    One length repeats, a pair is a length and a number of chunks.
    """
    if configuration.get("kind") != "inline":
        text = "the kind of the rectilinear chunk grid is not `inline`"
        raise BadDocumentError(text, "chunk_grid", "unreadable-array" if "kind" in configuration else "bad-metadata")
    written = configuration.get("chunk_shapes")
    if not isinstance(written, list) or len(written) != len(shape):
        raise BadDocumentError("the chunks are not a list of lengths for each dimension", "chunk_grid")
    chunks = []
    for axis, (edges, extent) in enumerate(zip(written, shape, strict=True)):
        try:
            chunk = read_lengths(edges)
        except ValueError as fault:
            raise BadDocumentError(f"dimension {axis}: {fault}", "chunk_grid") from fault
        total = extent if isinstance(edges, int) else total_of(edges)  # one length repeats to the end of the array
        if total < extent:
            text = f"the chunks of dimension {axis} have {total} elements, and the array has {extent}"
            raise BadDocumentError(text, "chunk_grid")
        if chunk > LARGEST_LENGTH:
            raise BadDocumentError(f"the chunks of dimension {axis} are too long", "chunk_grid")
        chunks.append(chunk.between(0, max(1, -(-extent // chunk))) if isinstance(chunk, Lengths) else chunk)
    return tuple(chunks)


def _read_keys(written: Any) -> ChunkKeys:
    """Return the encoding of chunk keys."""
    name, configuration = split_name(written, "chunk_key_encoding")
    if name not in ("default", "v2"):  # the encodings of the specification
        raise BadDocumentError(f"chunk key encoding `{name}` is unknown", "chunk_key_encoding", "unreadable-array")
    separator = configuration.get("separator", "/" if name == "default" else ".")  # the specification's defaults
    if separator not in ("/", "."):
        raise BadDocumentError("the separator must be `/` or `.`", "chunk_key_encoding")
    return ChunkKeys(separator=separator, lead="c" if name == "default" else "")
