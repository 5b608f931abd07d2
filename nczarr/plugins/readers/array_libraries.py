"""tensorstore, zarrs, xarray-tensorstore and GDAL: what each of them reads of the arrays of a store.

These libraries open arrays one by one. What they know is data: types, codecs, and what their documents must have. Each
fact was seen on arrays that zarr-python wrote, one for each type, codec, fill value and grid. zarr-python opens the
arrays for zarrs, and xarray those for xarray-tensorstore: their faults count as well.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from nczarr.ast.dataset import MISSING_MARKS
from nczarr.plugins.readers import xarray, zarr_python, zarr_types
from nczarr.plugins.readers.documents import StoreNode, Word, ZarrView
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Find, Finding, ReaderFault, faults, of_arrays
from nczarr.plugins.readers.zarr_python import codecs

NUMBERS_3 = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
"""Data types of numbers of Zarr v3."""

REGISTERED = frozenset("bytes transpose gzip zstd blosc crc32c sharding_indexed".split())
"""Codecs of the specification of Zarr v3."""

BLOSC = {"blosc", "zlib", "gzip", "zstd"}
"""Compressors that all of these libraries have."""


class ArrayLimits(NamedTuple):
    """Types and codecs that a library reads."""

    types_2: str
    """Pattern of the dtypes of Zarr v2."""
    codecs_2: frozenset[str]
    """Compressors and filters of Zarr v2."""
    types_3: frozenset[str] = NUMBERS_3
    """Data types of Zarr v3."""
    codecs_3: frozenset[str] = REGISTERED
    """Codecs of Zarr v3."""


TENSORSTORE = ArrayLimits(r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16)", frozenset({*BLOSC, "bz2"}))
ZARRS = ArrayLimits(
    r"[<|](?:b1|[iu][1248]|f[248]|c8|c16)|>[iu]1",
    frozenset({*BLOSC, "bz2", "shuffle", "fixedscaleoffset"}),
    codecs_3=REGISTERED | {f"numcodecs.{name}" for name in ("zlib", "bz2", "shuffle", "fixedscaleoffset")},
)
GDAL = ArrayLimits(
    r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16)|\|S[1-9][0-9]*|[<>]U[1-9][0-9]*",
    frozenset({*BLOSC, "lz4", "lzma", "delta", "shuffle", "quantize"}),
    types_3=NUMBERS_3 | {"string"},
    codecs_3=REGISTERED | {"vlen-utf8"},
)
GDAL_RELEASES = ("3.6", "3.10", "3.12", "3.13")
"""3.6.2, 3.8.4, 3.9.2, 3.10.3, 3.12.1 and 3.12.2 were tried; what 3.13 adds is from its documentation."""

GDAL_FINAL = "3.12"
"""First release seen to read final Zarr v3: those before know the codec `bytes` by its name in drafts."""

GDAL_SINCE = {
    (2, "shuffle"): GDAL_FINAL, (2, "quantize"): GDAL_FINAL,
    (3, "crc32c"): "3.13", (3, "sharding_indexed"): "3.13", (3, "string"): "3.13",
    (3, "vlen-utf8"): "3.13",
}  # fmt: skip
"""First releases that read a codec or type, by version of Zarr."""

ANOTHER = "write another codec: `nczarr convert --codec`"


def find_elements(limits: ArrayLimits, array: StoreNode) -> Iterator[Finding]:
    """Find types that a library does not know."""
    member = "dtype" if array.version == 2 else "data_type"
    dtype = array.meta.get(member)
    if array.version == 2:
        is_known = isinstance(dtype, str) and re.fullmatch(limits.types_2, dtype) is not None
    else:
        is_known = isinstance(dtype, str) and dtype in limits.types_3
    if member in array.meta and not is_known:
        text = f"`{dtype}`" if isinstance(dtype, str) else "a record" if isinstance(dtype, list) else "configured"
        yield array.at("unknown-dtype", f"/{member}", f"the type of `{array.path}` is {text}")


def find_codecs(limits: ArrayLimits, array: StoreNode) -> Iterator[Finding]:
    """Find codecs that a library does not have, inside of shards as well."""
    known = limits.codecs_2 if array.version == 2 else limits.codecs_3
    for pointer, name, _ in _list_codecs(array):
        if isinstance(name, str) and name not in known:
            yield array.at("unread-codec", pointer, f"`{array.path}` is encoded with `{name}`")


def _list_codecs(array: StoreNode) -> Iterator[tuple[str, Any, Any]]:
    """Yield the codecs of an array and of its shards: pointer, name and members."""
    waiting = list(codecs(array))
    while waiting:
        pointer, name, codec = waiting.pop(0)
        yield pointer, name, codec
        configuration = codec.get("configuration") if isinstance(codec, dict) else None
        inner = configuration.get("codecs") if name == "sharding_indexed" and isinstance(configuration, dict) else None
        for place, step in enumerate(inner if isinstance(inner, list) else ()):
            inner_name = step.get("name") if isinstance(step, dict) else None
            waiting.append((f"{pointer}/configuration/codecs/{place}", inner_name, step))


def find_missing_filters(array: StoreNode) -> Iterator[Finding]:
    """Find documents of Zarr v2 without `filters` or `compressor`, which older writers left out."""
    for name in ("compressor", "filters"):
        if array.version == 2 and name not in array.meta:
            yield array.at("missing-member", "", f"array `{array.path}` has no `{name}`")


def find_strange_documents(array: StoreNode) -> Iterator[Finding]:
    """Find what tensorstore refuses in a document of Zarr v3, or in a fill value of Zarr v2."""
    meta, path = array.meta, array.path
    fill = meta.get("fill_value")
    if array.version == 2:
        if (
            isinstance(meta.get("dtype"), str)
            and meta["dtype"][1:2] in ("S", "V")
            and isinstance(fill, str)
            and not fill
        ):
            yield array.at("bad-fill", "/fill_value", f"the fill value of `{path}` is an empty text")
        return
    axis_names = meta.get("dimension_names")
    yield from find_unstrict(array)
    if zarr_types.kind(meta, 3)[1] > 1:
        for pointer, name, codec in _list_codecs(array):
            configuration = codec.get("configuration") if isinstance(codec, dict) else None
            if name == "bytes" and not (isinstance(configuration, dict) and "endian" in configuration):
                yield array.at("bad-codecs", pointer, f"the codec `bytes` of `{path}` has no `endian`")
    named = [name for name in axis_names if name and isinstance(name, str)] if isinstance(axis_names, list) else []
    if len(set(named)) < len(named):
        yield array.at(
            "doubled-dimension", "/dimension_names", f"two axes of `{path}` have one name", does="refuses it"
        )
    chain = meta.get("codecs")
    names = [codec.get("name") for codec in chain if isinstance(codec, dict)] if isinstance(chain, list) else []
    if "sharding_indexed" in names[:-1]:
        yield array.at("bad-codecs", "/codecs", f"codecs follow the shards of `{path}`")


def find_unstrict(array: StoreNode) -> Iterator[Finding]:
    """Find documents of an array that are not strictly JSON."""
    for document in {id(one): one for one in (array.document, array.attributes) if one is not None}.values():
        if document.unstrict is not None or _has_word(document.value):
            text = f"the document of `{array.path}` is not strictly JSON, as with NaN among the attributes"
            yield Finding("broken-document", document.key, "", text)


def _has_word(value: Any) -> bool:
    """Return whether a value of a document has a number such as NaN, which JSON does not have."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_special = isinstance(value, float) and not math.isfinite(value)
    return is_special or isinstance(value, Word) or any(map(_has_word, members))


def find_foreign_order(array: StoreNode) -> Iterator[Finding]:
    """Find values in F order, which zarrs leaves to zarr-python."""
    if array.version == 2 and array.meta.get("order") == "F" and len(array.shape or ()) > 1:
        text, instead = f"the values of `{array.path}` are in F order", "write C order: `nczarr convert --order C`"
        yield array.at("unread-codec", "/order", text, instead=instead)


def find_complex_without_fill(array: StoreNode) -> Iterator[Finding]:
    """Find complex numbers of Zarr v2 without a fill value, which zarrs leaves to zarr-python."""
    dtype = array.meta.get("dtype")
    if array.version == 2 and isinstance(dtype, str) and dtype[1:2] == "c" and array.meta.get("fill_value") is None:
        yield array.at("bad-fill", "/fill_value", f"`{array.path}` has complex numbers and no fill value")


def find_masks(array: StoreNode) -> Iterator[Finding]:
    """Find values that xarray masks or unpacks, which xarray-tensorstore does for coordinates alone."""
    fills = [(array.key, "/fill_value", array.meta.get("fill_value"))] if array.version == 2 else []
    fills += [(array.attrs_key, f"{array.attrs_pointer}/{name}", array.attrs.get(name)) for name in MISSING_MARKS]
    for key, pointer, fill in fills:
        is_nan = fill in ("NaN", "AAAAAAAA+H8=") or (isinstance(fill, float) and math.isnan(fill))
        if fill is not None and not is_nan:
            text = f"`{pointer.rpartition('/')[2]}` of `{array.path}` is `{json.dumps(fill)[:40]}`"
            yield Finding("masking-fill", key, pointer, text)
    for name in ("scale_factor", "add_offset"):
        if name in array.attrs:
            text = f"`{array.path}` is packed: it has the attribute `{name}`"
            yield array.at_attribute("masking-fill:packed", name, text)


def find_gdal_faults(array: StoreNode) -> Iterator[Finding]:
    """Find fill values and shapes that GDAL refuses or changes."""
    dtype, fill, path = array.meta.get("dtype"), array.meta.get("fill_value"), array.path
    if isinstance(dtype, str) and dtype[1:2] == "c" and fill is not None:
        yield array.at(
            "bad-fill", "/fill_value", f"`{path}` has complex numbers and a fill value", does="cannot open it"
        )
    if dtype in ("<u8", ">u8") and isinstance(fill, int) and fill >= 2**63:
        yield array.at("rounded-integer", "/fill_value", f"the fill value of `{path}` is {fill}")


def find_empty_shapes(array: StoreNode) -> Iterator[Finding]:
    """Find arrays without cells."""
    if 0 in (array.shape or ()):
        since = GDAL_FINAL if array.version == 3 else ""
        yield array.at("bad-shape", "/shape", f"`{array.path}` has no cells", since=since)


def find_versions(view: ZarrView) -> Iterator[Finding]:
    """Find a store of Zarr v3."""
    if view.version == 3:
        text = "the store is of Zarr v3"
        yield Finding("unread-format", view.root.key, "/zarr_format", text)._replace(until=GDAL_FINAL)


def find_gdal_elements(array: StoreNode) -> Iterator[Finding]:
    """Find types and codecs that GDAL lacks, or has since a release."""
    since = GDAL_FINAL if array.version == 3 else ""
    for finding in (*find_elements(GDAL, array), *find_codecs(GDAL, array)):
        yield finding._replace(since=since)
    words = [(pointer, name, "unread-codec", "encoded with") for pointer, name, _ in _list_codecs(array)]
    for pointer, name, code, what in (*words, ("/data_type", array.meta.get("data_type"), "unknown-dtype", "of type")):
        until = GDAL_SINCE.get((array.version, name)) if isinstance(name, str) else None
        if until is not None:
            yield array.at(code, pointer, f"`{array.path}` is {what} `{name}`", since=since, until=until)


def _find_of_arrays(*finds: Callable[[StoreNode], Iterator[Finding]], version: int | None = None) -> Find:
    """Return a function that finds faults array by array; `version`: in stores of one version of Zarr alone."""
    every = of_arrays(*finds)
    return lambda view: every(view) if version in (None, view.version) else iter(())


def _find_of_data(*finds: Callable[[StoreNode], Iterator[Finding]]) -> Find:
    """Return a function that finds faults of arrays that are no coordinates, which xarray reads itself."""

    def find(view: ZarrView) -> Iterator[Finding]:
        """Yield findings of arrays that are neither coordinates of their dimension nor named by `coordinates`."""
        arrays = list(view.arrays)
        coordinates = {array.prefix for array in arrays if xarray.names_of(array)[0] == [array.name]}
        for array in arrays:
            group = array.prefix.removesuffix(f"{array.name}/")
            words = array.attrs.get("coordinates")
            coordinates.update(f"{group}{word}/" for word in (words.split() if isinstance(words, str) else ()))
        data = (array for array in arrays if array.prefix not in coordinates)
        yield from (finding for array in data for one in finds for finding in one(array))

    return find


def _inherit(
    peer: Peer, own: tuple[ReaderFault, ...], *, only: frozenset[str] | None = None
) -> tuple[tuple[ReaderFault, ...], tuple[Find, ...]]:
    """Return the faults of another reader beside those of one that builds on it, and the functions that find them.

    Of a code that both have, the own fault counts. `only`: codes to take. Faults of old releases are left out.
    """
    codes = {fault.code for fault in own}
    taken = tuple(fault for fault in peer.stores if fault.code not in codes and (only is None or fault.code in only))
    wanted = {fault.name for fault in taken}

    def find(view: ZarrView) -> Iterator[Finding]:
        for one in peer.find:
            for finding in one(view):
                if finding.fault in wanted and not finding.until:
                    yield finding._replace(since="")

    return taken, (find,)


REFUSED = "cannot open it"
NUMBERS = "write numbers or booleans"
LEAVES = "leaves it to zarr-python, or refuses it if it is strict"

TENSORSTORE_FAULTS = faults(
    "0.1.86",
    ("missing-member", REFUSED, "write all members that the specification requires"),
    ("unknown-dtype", "cannot read it as one array", NUMBERS),
    ("unread-codec", REFUSED, ANOTHER),
    ("bad-codecs", REFUSED, "name the byte order of `bytes`, and let no codec follow the shards"),
    ("bad-fill", REFUSED, "write `null`"),
    ("doubled-dimension", REFUSED, "give each axis a name of its own"),
    ("broken-document", REFUSED, "write the document again: `nczarr convert SRC DST`"),
)
ZARRS_FAULTS = faults(
    "0.2.3",
    ("unknown-dtype", LEAVES, f"{NUMBERS}, in Zarr v2 little-endian ones"),
    ("unread-codec", LEAVES, ANOTHER),
    ("bad-fill", LEAVES, "write a fill value"),
    ("broken-document", "refuses it if it is strict", "write no NaN or infinity as an attribute"),
)
XARRAY_TENSORSTORE_FAULTS = (
    *(fault._replace(seen="0.3.0", does=xarray.REFUSED) for fault in TENSORSTORE_FAULTS),
    *faults(
        "0.3.0",
        ("masking-fill", f"{xarray.REFUSED} without `mask_and_scale=False`", "write `null`, or Zarr v3"),
        ("masking-fill:packed", f"{xarray.REFUSED} without `mask_and_scale=False`", "write values that are not packed"),
    ),
)
GDAL_FAULTS = faults(
    "3.6.2 to 3.12.2",
    (
        *("unread-format", "reads drafts of Zarr v3 alone", "write Zarr v2: `nczarr convert SRC DST --to zarr2`"),
        "3.6.2 to 3.10.3",
    ),
    ("missing-member", REFUSED, "write all members that the specification requires"),
    ("bad-shape", REFUSED, "write a shape with cells"),
    ("unknown-dtype", REFUSED, "write numbers, or texts of a fixed length"),
    ("unread-codec", REFUSED, ANOTHER),
    ("bad-fill", REFUSED, "write `null`"),
    ("rounded-integer", "reads missing chunks as another number", "write `null`, and all chunks"),
)

OF_DOCUMENTS = frozenset(
    {"unknown-member", "unknown-extension", "nameless-codec", "bad-chunks", "bad-shape", "odd-separator", "odd-chunk"}
)
"""Codes of zarr-python's faults that tensorstore shares."""

_TENSORSTORE = (
    partial(find_elements, TENSORSTORE), partial(find_codecs, TENSORSTORE),
    find_missing_filters, find_strange_documents,
)  # fmt: skip
_SHARED, _FIND_SHARED = _inherit(zarr_python.PEER, TENSORSTORE_FAULTS, only=OF_DOCUMENTS)
_OF_ZARR_PYTHON, _FIND_OF_ZARR_PYTHON = _inherit(zarr_python.PEER, ZARRS_FAULTS)
_OF_XARRAY, _FIND_OF_XARRAY = _inherit(xarray.PEER, XARRAY_TENSORSTORE_FAULTS)

TENSORSTORE_PEER = Peer(
    "tensorstore", "tensorstore", "0.1.86", (*TENSORSTORE_FAULTS, *_SHARED),
    (_find_of_arrays(*_TENSORSTORE), *_FIND_SHARED), ZarrView,
)  # fmt: skip
ZARRS_PEER = Peer(
    "zarrs", "zarrs", "0.2.3", (*ZARRS_FAULTS, *_OF_ZARR_PYTHON),
    (
        _find_of_arrays(
            partial(find_elements, ZARRS), partial(find_codecs, ZARRS), find_foreign_order, find_complex_without_fill,
            find_unstrict,
        ),
        *_FIND_OF_ZARR_PYTHON,
    ), ZarrView,
)  # fmt: skip
XARRAY_TENSORSTORE_PEER = Peer(
    "xarray-tensorstore", "xarray-tensorstore", "0.3.0", (*XARRAY_TENSORSTORE_FAULTS, *_OF_XARRAY),
    (_find_of_data(*_TENSORSTORE, find_masks), *_FIND_OF_XARRAY), ZarrView,
    find_in_values=xarray.PEER.find_in_values,
)  # fmt: skip
GDAL_PEER = Peer(
    "gdal", "GDAL", "3.6.2 to 3.13", GDAL_FAULTS,
    (
        find_versions,
        _find_of_arrays(find_gdal_elements, find_missing_filters),
        _find_of_arrays(find_gdal_faults, version=2),
        _find_of_arrays(find_empty_shapes),
    ), ZarrView, (), releases=GDAL_RELEASES,
)  # fmt: skip
