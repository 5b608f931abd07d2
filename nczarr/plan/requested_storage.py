"""Storage that the options request, and storage that Zarr metadata can express.

Reports unmatched-chunks, unmatched-shards, unmatched-order,
unmatched-separator, bad-codec, for requests that no variable can meet.

Also how documents store a `_FillValue`: `plain_fill`, because plain documents
store enums as integers, and `omits_fill`, because references leave it out.
"""

import math
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from nczarr import names
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import from_configs, to_configs
from nczarr.arrays.sources.source import Layout, is_number, itemsize
from nczarr.arrays.values.elements import RAW, convert_to_stored, element_of, is_element, text_element
from nczarr.arrays.values.parts import Types, as_integers, own_type
from nczarr.ast import ATOMIC, Attribute, Codec, Constant, Storage, Variable
from nczarr.ast.dataset import SHUFFLE, groups
from nczarr.ast.plain_json import plain
from nczarr.ast.rectilinear import Lengths, largest, varies, within
from nczarr.diagnostics.report import Report, suggest
from nczarr.names.records import NamedTuple
from nczarr.options import AUTO, Access, LayoutOptions
from nczarr.plan.chunk_lengths import ShardRequest, default_chunks, fits, inner_chunks
from nczarr.plan.chunk_sizes import LARGEST_STEP, LEAST, lengths_of_size
from nczarr.plan.plans import StorePlan
from nczarr.registry import Arrays
from nczarr.semantics.checked import Checked, find_coordinates


def plain_fill(attribute: Attribute, owner: str, types: Types) -> Attribute:
    """Return the attribute; if it is a `_FillValue` of the owner's enum type, as an integer."""
    if attribute.name != "_FillValue" or attribute.value.type != owner or own_type(owner, types) == owner:
        return attribute
    return Attribute(name=attribute.name, value=as_integers(attribute.value, types))


def omits_fill(plan: StorePlan, path: str, variable: Variable) -> bool:
    """Return whether documents omit the attribute `_FillValue`, because the fill value of the array states it.

    That is so for texts of fixed length with a NUL, which plain attributes cut, and for some numbers.
    """
    return _omits_text_fill(plan, path, variable) or _omits_number_fill(plan, path, variable)


def _omits_text_fill(plan: StorePlan, path: str, variable: Variable) -> bool:
    """Return whether `_FillValue` is a text that JSON cannot give exactly, but the array's fill value can."""
    arrays = plan.form.capabilities.arrays
    target = plan.targets[path].get("")  # the array, if one holds all values
    fill = find_fill(variable)
    if arrays is None or not arrays.numpy_types or target is None or fill is None or target.layout.fill is None:
        return False
    dtype = target.layout.dtype
    is_fixed_text = variable.type == "string" and isinstance(dtype, str) and dtype[1] == "S"
    is_fill_of_array = fill.data == (target.layout.fill.rstrip(b"\0"),)
    return is_fixed_text and is_fill_of_array and not plain(fill).exact


def _omits_number_fill(plan: StorePlan, path: str, variable: Variable) -> bool:
    """Return whether `_FillValue` is the array's fill value, in references of Zarr v2 as kerchunk writes them.

    There xarray takes every fill value for `_FillValue`, and VirtualiZarr
    refuses the attribute.
    """
    arrays = plan.form.capabilities.arrays
    target = plan.targets[path].get("")
    fill = find_fill(variable)
    if arrays is None or not arrays.by_reference or arrays.fill_needed or target is None or fill is None:
        return False
    dtype, stored_fill = target.layout.dtype, target.layout.fill
    is_number_array = isinstance(dtype, str) and dtype[1] in "iuf"
    if not is_number_array or stored_fill is None or not isinstance(fill.data, bytes):
        return False
    return is_element(fill.data, dtype) and convert_to_stored(fill.data, dtype) == stored_fill


def find_fill(variable: Variable) -> Constant | None:
    """Return a `_FillValue` of one value of the variable's type."""
    value = next((attribute.value for attribute in variable.attributes if attribute.name == "_FillValue"), None)
    return None if value is None or value.type != variable.type or value.count != 1 else value


def place_omitted_fills(plan: StorePlan) -> dict[str, int]:
    """Return the place of each numeric `_FillValue` that documents omit, by the prefix of its array.

    The place is that among the attributes that the documents hold. Empty for
    formats that have an extension for this.
    """
    if plan.form.capabilities.typed_attributes:
        return {}
    places: dict[str, int] = {}
    for path, group in groups(plan.checked.dataset):
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if _omits_number_fill(plan, fqn, variable):
                shown = [
                    attribute.name for attribute in variable.attributes if plain(attribute.value).value is not None
                ]
                places[plan.prefix(fqn)] = shown.index("_FillValue") if "_FillValue" in shown else 0
    return places


def metadata_storage(layout: Layout, *, texts: bool = False, utf8: bool = True) -> Storage:
    """Return the storage that a reader derives from a layout's documents alone.

    `texts`: as one of pure Zarr. `utf8`: texts of any length are no bytes.
    """
    dtype = layout.dtype if isinstance(layout.dtype, str) else "|V"
    number = is_number(dtype)
    text = RAW if dtype == "|O" and not utf8 else text_element(layout.dtype)
    return Storage(
        chunks=layout.chunks or None,
        codecs=from_configs(to_configs(layout.codecs, itemsize(layout.dtype))) or (),
        endian="big" if number and dtype[0] == ">" else None,
        no_fill=number and layout.fill is None and not texts,  # pure Zarr has no fill mode
        element=element_of(layout.dtype) or (text if texts else None),
    )


def unkept(requested: Storage, plain: Storage, *, codecs_too: bool = True) -> list[str]:
    """Return descriptions of wanted properties that the plain storage lacks."""
    checks = {
        f"{requested.layout} layout": requested.layout in ("contiguous", "compact"),
        "the lengths of chunks": requested.chunks is not None and requested.chunks != plain.chunks,
        "the order of filters": codecs_too and requested.codecs != plain.codecs,
        "byte order": requested.endian is not None and requested.endian != plain.endian,
        "the fill mode": requested.no_fill != plain.no_fill,
        "quantization": requested.quantize is not None,
        f"the element kind {requested.element}": requested.element not in (None, plain.element),
    }
    return [what for what, lost in checks.items() if lost]


INNER = 8 << 20
"""Maximum bytes of an automatic chunk in a shard for reading by ranges, where a chunk is a request of its own."""


class StorageRequests(NamedTuple):
    """Requested storage. The key `""` is the default for all variables."""

    chunks: Mapping[str, int | tuple[int, ...]]
    """Chunk lengths by FQN of a variable, or by name of a dimension; or sizes, by FQN."""
    codecs: Mapping[str, tuple[Codec, ...]]
    """Codecs by FQN of a variable."""
    shards: Mapping[str, str | tuple[int, ...]]
    """Shard lengths, `auto` or `none`, by FQN of a variable."""
    bare: frozenset[str] = frozenset()
    """Keys of `codecs` that name a compressor alone, before which numbers are shuffled."""
    rectilinear: bool = False
    """True if chunk lengths may differ along a dimension."""
    access: Access = "map"
    """Way of reading for which lengths of a size are chosen."""
    undivided: frozenset[str] = frozenset()
    """FQNs of the variables that lengths of dimensions, and an automatic size, leave in one chunk."""

    def shards_of(self, path: str, variable: Variable) -> ShardRequest:
        """Return the shard request of one variable."""
        request = self.shards.get(path)
        if request is None and self.shards:
            asked = self.lengths(self.shards, variable)
            if any(asked):
                return tuple(asked)
            request = self.shards.get("")
        if isinstance(request, tuple):
            return request
        if request == "append":
            return "append"
        return "cloud" if request == "cloud" else "auto" if request == "auto" else "none"

    @staticmethod
    def lengths(requests: Mapping[str, Any], variable: Variable) -> list[int | None]:
        """Return the lengths requested for dimensions by FQN or simple name."""
        lengths = []
        for reference in variable.dimensions:
            name = names.last(reference) if isinstance(reference, str) else ""
            length = (requests.get(str(reference)) or requests.get(name)) if name else None
            lengths.append(length[0] if isinstance(length, tuple) else None)
        return lengths


def storage_of(
    path: str,
    variable: Variable,
    shape: tuple[int, ...],
    requests: StorageRequests,
    itemsize: int,
    limits: tuple[int, ...] | None = None,
) -> Storage:
    """Return the variable's storage with the options applied, before the limits of the target.

    `limits`: maximum chunk lengths, independent of an unlimited dimension's
    length in a netCDF file; None: the shape.
    """
    limits = shape if limits is None else limits
    storage = variable.storage
    if storage.chunks is not None and varies(storage.chunks):
        storage = storage.model_copy(update={"chunks": _fit_chunks(storage.chunks, limits, requests)})
    chunks = _request_chunks(path, variable, shape, requests, itemsize, limits)
    cut, asked = chunks or storage.chunks, requests.lengths(requests.shards, variable)
    if cut and any(asked) and path not in {*requests.shards, *requests.chunks} and not varies(cut):
        fixed = requests.lengths({} if path in requests.undivided else requests.chunks, variable)
        asked = [None if chunk else shard for shard, chunk in zip(asked, fixed, strict=True)]
        chunks = inner_chunks(tuple(asked), cut, shape)  # lengths of the source need not divide shards
    codecs = requests.codecs.get(path, requests.codecs.get("") if shape else None)
    is_bare = codecs and (path if path in requests.codecs else "") in requests.bare
    if codecs and is_bare and codecs != storage.codecs and _shuffle_helps(variable):  # equal chunks are copied
        codecs = (Codec(id=SHUFFLE), *codecs)
    if chunks is None and codecs is None:
        return storage
    changes = {
        "layout": "chunked" if shape and (chunks is not None or codecs) else storage.layout,
        "chunks": storage.chunks if chunks is None else chunks,
        "codecs": storage.codecs if codecs is None else codecs,
    }
    return storage.model_copy(update=changes)


def _shuffle_helps(variable: Variable) -> bool:
    """Return whether the values are numbers of several bytes, or were shuffled before."""
    atomic = ATOMIC.get(variable.type)
    is_wide = atomic is not None and atomic.size > 1
    return is_wide or any(codec.id == SHUFFLE for codec in variable.storage.codecs)


def _request_chunks(
    path: str,
    variable: Variable,
    shape: tuple[int, ...],
    requests: StorageRequests,
    itemsize: int,
    limits: tuple[int, ...],
) -> tuple[int, ...] | None:
    """Return the requested chunk lengths of a variable; None if nothing is requested for it."""
    if not requests.chunks or not shape:
        return None
    lengths = requests.chunks.get(path)
    if lengths is None:
        asked = requests.lengths(requests.chunks, variable)
        size = requests.chunks.get("")
        if not any(asked) and size is None:
            return None
        if (
            path in requests.undivided
            and (size == AUTO or any(asked))
            and (fits(shape, itemsize) if size == AUTO else math.prod(shape) * itemsize <= LEAST)
        ):
            asked = [max(request or 1, length) for request, length in zip(asked, shape, strict=True)]
        otherwise = variable.storage.chunks or default_chunks(shape, itemsize)
        if isinstance(size, int) and not _suits(variable, itemsize, size, requests):
            otherwise = _choose_lengths(shape, itemsize, size, requests)
        if not any(asked) and otherwise == limits and variable.storage.chunks is None:
            return None  # one chunk, which a contiguous array is as well
        lengths = tuple(request or length for request, length in zip(asked, otherwise, strict=True))
    elif isinstance(lengths, int):
        lengths = _choose_lengths(shape, itemsize, lengths, requests)
    lengths = lengths if requests.rectilinear else largest(lengths)
    return tuple(within(chunk, limit) for chunk, limit in zip(lengths, limits, strict=True))


def _choose_lengths(shape: tuple[int, ...], itemsize: int, size: int, requests: StorageRequests) -> tuple[int, ...]:
    """Return chunk lengths of a size; automatic ones within shards for reading by ranges are no larger than `INNER`."""
    lengths = lengths_of_size(shape, itemsize, size, requests.access)
    if size == AUTO and requests.shards.get("") == "cloud" and math.prod(lengths) * itemsize > INNER:
        return lengths_of_size(shape, itemsize, INNER, requests.access)
    return lengths


def _suits(variable: Variable, itemsize: int, size: int, requests: StorageRequests) -> bool:
    """Return whether the source's chunks, which can be copied, are as good as automatic ones."""
    chunks = variable.storage.chunks
    if chunks is None or size != AUTO or requests.access != "map" or varies(chunks):
        return False
    one_longer = math.prod(chunks) + math.prod(chunks[1:])  # CMIP7 allows one step less than the least size
    return one_longer * itemsize >= LEAST and math.prod(chunks) * itemsize <= LARGEST_STEP


def _fit_chunks(chunks: tuple[int, ...], shape: tuple[int, ...], requests: StorageRequests) -> tuple[int, ...]:
    """Return different chunk lengths as the target has them: for the whole shape, or one for each dimension."""
    if not requests.rectilinear:
        return largest(chunks)
    return tuple(
        chunk.fit(length) if isinstance(chunk, Lengths) else chunk for chunk, length in zip(chunks, shape, strict=True)
    )


def _write_one_with(trait: str) -> str:
    """Return the remedy that names the formats whose arrays have a trait."""
    from nczarr.registry import formats

    able = [form.name for form in formats() if form.writable and getattr(form.capabilities.arrays, trait, False)]
    return f"write {' or '.join(f'`{name}`' for name in able)}" if able else "no installed format has them"


def storage_requests(
    checked: Checked, target: str, arrays: Arrays | None, layout: LayoutOptions, report: Report
) -> StorageRequests:
    """Return the requested chunks, shards and codecs, checked against the dataset and the target.

    Without `arrays` the target is an HDF5 file, else a chunked store.
    """
    _check_lengths(checked, layout.chunks, "--chunks", "unmatched-chunks", report)
    if not (arrays and arrays.shards) and any(lengths != "none" for lengths in layout.shards.values()):
        report.error("unmatched-shards", f"{target} has no shards", helps=["write `zarr3` or `nczarr3`"])
    if layout.grid == "rectilinear" and not (arrays and arrays.rectilinear):
        text = f"{target} has chunks of one length along each dimension"
        report.error(
            "unmatched-chunks",
            text,
            helps=["omit `--grid rectilinear`, or write Zarr v3: `--to zarr3`, or `--metadata zarr3` of references"],
        )
    if layout.order == "F" and not (arrays and arrays.orders):
        report.error("unmatched-order", f"{target} has no chunks in F order", helps=[_write_one_with("orders")])
    if layout.separator is not None and not (arrays and arrays.separators):
        report.error(
            "unmatched-separator", f"keys of {target} have one separator", helps=[_write_one_with("separators")]
        )
    _check_lengths(checked, layout.shards, "--shards", "unmatched-shards", report)
    if any(codecs.FAST.search(text) for text in layout.codecs.values()) and find_spec("isal") is None:
        helps = ["run `pip install 'nczarr[fast]'`", "or give a level: `zlib:1`"]
        report.error("missing-library", "`--codec zlib:fast` needs `isal`, which is not installed", helps=helps)
    chains: dict[str, tuple[Codec, ...]] = {}
    bare: set[str] = set()
    for name, text in layout.codecs.items():
        supported = table.nameable("hdf5" if arrays is None else arrays.codecs)
        if name and name not in checked.variables:
            helps = suggest(name, checked.variables)
            report.error("bad-codec", f"`--codec` names `{name}`, which is not a variable", helps=helps)
        try:
            chain = chains[name] = codecs.nearest(codecs.parse(codecs.without_fast(text)), supported)
            # Zarr v3 and its draft have no registered shuffle: few of their readers open what has one
            if codecs.is_bare(chain, text) and SHUFFLE in supported and not (arrays and arrays.fill_needed):
                bare.add(name)
            if not codecs.expressible(chain, supported):
                report.error("bad-codec", f"`{text}` has a codec that {target} does not have")
        except ValueError as error:
            report.error("bad-codec", f"`{text}` is not a codec: {error}")
    undivided = frozenset[str]()
    if layout.chunks:
        coordinates = find_coordinates(checked)
        undivided = frozenset(coordinates) | frozenset(bounds for bounds in coordinates.values() if bounds is not None)
    return StorageRequests(
        layout.chunks, chains, layout.shards, frozenset(bare), layout.grid == "rectilinear", layout.access, undivided
    )


def _check_lengths(
    checked: Checked, asked: Mapping[str, str | int | tuple[int, ...]], option: str, code: str, report: Report
) -> None:
    """Report lengths for an unknown name, or a wrong number of them; only variables accept words and sizes."""
    simple = {names.last(fqn) for fqn in checked.dimensions}
    for name, lengths in asked.items():
        variable = checked.variables.get(name)
        if variable is not None:
            if isinstance(lengths, tuple) and len(lengths) != len(variable.dimensions):
                given, shape = len(lengths), checked.shapes[name]
                counted = f"{given} length{'s' * (given != 1)} for `{name}`, which has {len(shape)} dimensions"
                example = ",".join(map(str, (*lengths, *shape[given:])[: len(shape)]))
                helps = [f"give one for each: `{option} {name}={example}`"] if shape else []
                report.error(code, f"`{option}` gives {counted}", variable.span, helps=helps)
        elif isinstance(lengths, str | int) and not name:
            continue
        elif isinstance(lengths, str | int) or len(lengths) != 1 or not (name in simple or name in checked.dimensions):
            helps = suggest(name, [*sorted(simple), *checked.variables])
            report.error(code, f"`{option}` names `{name}`, which is not a dimension or variable", helps=helps)
