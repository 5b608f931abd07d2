"""Options of the Python functions that write: names, types and meaning in one place.

Names and defaults are those of `nczarr.options.Options`, which `options_from`
returns.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast

from nczarr import names
from nczarr.api.hints import add_hints
from nczarr.ast import Dataset
from nczarr.ast.dataset import KIND_SPELLINGS
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.options import PARTS, WHOLE, Aggregation, Following, Options, Writing, chunk_request
from nczarr.pipeline.select.selection import Section, Subset

Function = TypeVar("Function", bound=Callable[..., Any])


class KeysOptions(TypedDict, total=False):
    """Options of a target."""

    kind: str | None
    """Kind of netCDF file, as `ncgen -k` spells it. None: the own one, else the smallest. Example: `kind="nc4"`."""
    chunks: Mapping[str, Sequence[int] | int | str] | str | None
    """Chunk lengths by variable or dimension; or a size: `auto`. Example: `chunks={"time": 1, "/g/temp": (1, 100)}`."""
    access: Literal["map", "series", "balanced"]
    """Way of reading for which lengths of a size are chosen: one time, one point, or both."""
    layout: Literal["cloud", "cmip7"] | None
    """`cloud`: automatic chunks, headers and indexes of netCDF-4 files in front, shards in Zarr v3.

    `cmip7`: the same in netCDF-4 files, with warnings for what CMIP7 does not accept.
    """
    grid: Literal["regular", "rectilinear"]
    """Grid of chunks. `rectilinear`: chunks have the lengths of the source's, in Zarr v3 only."""
    shards: Mapping[str, Sequence[int] | int | str] | str | None
    """Shard lengths as chunk lengths; or `auto`, `append`, `none`. Example: `shards={"time": 10}`."""
    codecs: Mapping[str, str] | str | None
    """Codecs for all variables, or by path of a variable. Example: `codecs="zlib:5"`.

    Before a compressor alone, numbers of several bytes are shuffled, except in Zarr v3; `noshuffle+zlib:5` is exact.
    `zlib:fast` is level 1 by ISA-L (`pip install 'nczarr[fast]'`), in a tenth of the time.
    """
    order: Literal["C", "F"] | None
    """Order of elements in chunks, where the target has a choice. None: that of the source."""
    separator: Literal[".", "/"] | None
    """Separator of indices in keys of chunks, where the target has a choice. None: that of the format."""
    zarr_names: Literal["common", "registered"]
    """Names in Zarr v3. `registered`: `struct`, and registered codecs instead of those of numcodecs."""
    tables: bool
    """Write records as tables in Awkward archives."""
    consolidated: bool | None
    """Write the metadata of all nodes in one key of the root as well. None: in Zarr stores alone."""
    declare: Literal["nz", "geo"] | None
    """Conventions that the target declares, where the format can. None: no declaration."""
    rename_illegal: bool
    """Give items legal names in netCDF files, and keep their own in an attribute."""
    narrow: bool
    """In classic kinds of file, write integers as `int` or `short`, and strings as chars, if that is exact."""
    overwrite: bool
    """Replace a target that exists."""
    message: str | None
    """Message of a commit in a repository. None: one that names the source. Example: `message="May is added"`."""
    author: str | None
    """Author of a commit in a repository. Example: `author="Ada"`."""
    virtual: bool
    """In a repository, refer to chunks in the files of the source instead of copying them."""
    allow_loss: Iterable[str]
    """Codes of value losses that are accepted; `all` accepts every one. Example: `allow_loss=["lost-type"]`."""
    header_pad: int
    """Bytes after the header of a classic netCDF file, which `nczarr.edit` may use. Example: `header_pad=4096`."""
    max_size: int
    """Bytes that the variables of a netCDF file or archive may declare in all. Example: `max_size=64 << 30`."""


class WriteOptions(KeysOptions, total=False):
    """Options of a target and of the run."""

    memory: int
    """Bytes of decoded chunks in flight. Example: `memory=256 << 20`."""
    workers: int | None
    """Number of threads. None: one for each processor. Example: `workers=4`."""
    storage_options: Mapping[str, Any] | None
    """Options of URLs for their library; `source.`, `target.`: one side. Example: `storage_options={"anon": True}`."""
    writing: Writing
    """Form of written references. Example: `writing=nczarr.refs.Writing(inline=0)`."""
    dask: str | None
    """Address of the scheduler of a cluster that does the work. Example: `dask="tcp://127.0.0.1:8786"`."""
    passes: Sequence[Callable[[Dataset, Report], Dataset] | str]
    """Functions over the tree before it is written, or their places. Example: `passes=["units:in_kelvin"]`."""


class SubsetOptions(TypedDict, total=False):
    """Options that select a part of a source."""

    variables: Iterable[str]
    """Variables to convert; empty: all. Example: `variables=["temp"]`."""
    exclude: Iterable[str]
    """Variables to leave out, and the dimensions that they alone use. Example: `exclude=["time_bnds"]`."""
    groups: Iterable[str]
    """Groups to convert; empty: all. Example: `groups=["/forecast"]`."""
    sections: Iterable[str]
    """Sections to convert, such as `temp(0:9:2, :, 5)`. Example: `sections=["temp(0:9:2, :, 5)"]`."""
    dims: Mapping[str, slice | int]
    """Indices of dimensions as in Python, clipped; one index keeps length 1. Example: `dims={"time": slice(0, 12)}`."""
    sel: Mapping[str, Any]
    """Values of coordinates: one value, or the bounds of a range, both included.

    A bound is None, a number, a text, or a date of Python, NumPy or cftime. A text is
    a date where the coordinate has units of time, and means the whole period:
    `{"time": ("2000-01", "2000-12")}` is a year. Example: `sel={"lat": (-30, 30)}`.
    """
    nearest: Mapping[str, Any]
    """Values of coordinates, as in `sel`; the nearest cell, of two the larger. Example: `nearest={"lat": 45.3}`."""
    coordinates: bool
    """Add the coordinates of selected variables, and other variables that they name as related."""


class ConvertOptions(WriteOptions, SubsetOptions, total=False):
    """Options of a source, of a target and of the run."""

    from_format: str | None
    """Format of the source. None: found by its content. Example: `from_format="netcdf4"`."""
    aggregation: Aggregation
    """Read aggregation variables of CF as what they stand for, or as stored. Example: `aggregation="keep"`."""
    unpack: bool
    """Give packed variables the numbers that they stand for, float or double, as xarray decodes them."""
    unlimited: Iterable[str]
    """Dimensions to make unlimited. Example: `unlimited=["time"]`."""
    fixed: bool | Iterable[str]
    """Give these unlimited dimensions their current length; True: all. Example: `fixed=["time"]`."""
    verify: bool
    """Read the target again and compare it; it appears only if it is equal."""
    resume: bool
    """Continue a target that the same run has begun."""
    following: Following
    """Policy for references in sources. Example: `following=nczarr.refs.Following(roots=["s3://archive"])`."""


def takes(options: type) -> Callable[[Function], Function]:
    """Return a decorator that gives a function with `**options` their signature and documentation.

    The function raises TypeError, with the closest name, when it is called with
    an option that does not exist.
    """
    annotations = {name: getattr(kind, "__forward_arg__", kind) for name, kind in options.__annotations__.items()}
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in annotations.items()
    ]

    def decorate(function: Function) -> Function:
        """Make a function refuse unknown keywords, and list its options in its signature instead of `**`."""
        signature = inspect.signature(function)
        explicit = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        check_options: Any = add_hints(function, annotations)
        check_options.__signature__ = signature.replace(parameters=[*explicit, *keywords])
        check_options.__doc__ = _document(function.__doc__ or "", annotations)
        return check_options  # type: ignore[no-any-return]

    return decorate


def _document(text: str, options: Iterable[str]) -> str:
    """Return a docstring with a parameter for each option behind `**options`, in the order of the signature."""
    found = re.search(r"\n( *)\*\*options\n.*?(?=\n\n)", text, re.DOTALL)
    if found is None:  # without docstrings, by `python -OO`
        return text
    described = _descriptions()
    rows = [_describe(name, *described[name]) for name in options if name in described]
    return text[: found.end()] + "".join(rows).replace("\n", "\n" + found[1]) + text[found.end() :]


def _describe(name: str, annotation: str, text: str) -> str:
    """Return the entry of an option in a docstring: type, default, meaning and an example."""
    default = _DEFAULTS[name]
    text = text.rstrip()
    usual = f"default {default!r}" if isinstance(default, bool | int | str) else "optional"
    if f"`{name}=" not in text:  # a value that is not the default
        values = ["True", "False"] if annotation.startswith("bool") else re.findall('"[^"]+"', annotation)
        other = next(each for each in values if each.strip('"') != str(default))
        text += f"\n    Example: `{name}={other}`."
    return f"\n{name} : {annotation}, {usual}\n    " + text.replace("\n\n", "\n")


@functools.cache
def _descriptions() -> dict[str, tuple[str, str]]:
    """Return type and description of each option, as this file has them."""
    field = re.compile(r'^    (\w+): ([^\n]+)\n    """(.+?)"""$', re.MULTILINE | re.DOTALL)
    return {
        name: (annotation, text) for name, annotation, text in field.findall(inspect.getsource(sys.modules[__name__]))
    }


def options_from(**arguments: Unpack[ConvertOptions]) -> Options:
    """Return the options of a run; the caller handles those that select a part of the source.

    Raises ValueError for an unknown kind of file or loss, and for an invalid
    shard shape; TypeError for chunks, shards and codecs that are no mappings.
    """
    arguments.setdefault("aggregation", "expand")
    for name, example in _MAPPINGS.items():
        _check_mapping(name, arguments.get(name), example)
    values: dict[str, Any] = {name: value for name, value in arguments.items() if name in _SAME}
    kind, given = arguments.get("kind"), [dict(arguments).get(name) or {} for name in _MAPPINGS]
    chunks, shards, codecs = ({"": one} if isinstance(one, str) else cast("dict[str, Any]", one) for one in given)
    if kind is not None and str(kind) not in KIND_SPELLINGS:
        raise ValueError(f"{kind!r} is not a kind of netCDF file; use nc3, nc6, nc5, nc4 or nc7")
    if arguments.get("declare") not in (None, "nz", "geo"):
        raise ValueError(f"{arguments.get('declare')!r} is not a convention that a target declares; use 'nz' or 'geo'")
    for shape in shards.values():
        if isinstance(shape, str) and shape not in ("auto", "append", "none"):
            raise ValueError(f"{shape!r} is not a shape of shards; use auto, append, none or lengths")
    return Options.of(
        **values,
        arrangement=arguments.get("layout"),
        kind=None if kind is None else KIND_SPELLINGS[str(kind)],
        chunks={
            name: chunk_request(one) if isinstance(one, str) else _lengths(one) or () for name, one in chunks.items()
        },
        shards={name: one if isinstance(one, str) else _lengths(one) or () for name, one in shards.items()},
        codecs=codecs,
        allow_loss=_losses(arguments.get("allow_loss", ())),
        storage=StorageOptions(arguments.get("storage_options")),
        special=True,  # a text target loses nothing of the storage
    )


def subset_from(report: Report, **arguments: Unpack[ConvertOptions]) -> Subset:
    """Return the requested part of a source. Reports bad-section. Raises TypeError, ValueError."""
    sections_of_texts: list[Section] = []
    for text in names.list_texts(arguments.get("sections", ())):
        from nczarr.pipeline.select.selection_syntax import sections

        sections_of_texts += sections(text, report, "section")
    fixed = arguments.get("fixed", False)
    subset = Subset(
        names.list_texts(arguments.get("variables", ())),
        names.list_texts(arguments.get("groups", ())),
        tuple(sections_of_texts),
        related=arguments.get("coordinates", True),
        excluded=names.list_texts(arguments.get("exclude", ())),
        fixed=("*",) if fixed is True else names.list_texts(fixed or ()),
        unlimited=names.list_texts(arguments.get("unlimited", ())),
    )
    dims, sel, nearest = arguments.get("dims") or {}, arguments.get("sel") or {}, arguments.get("nearest") or {}
    for option, cuts, example in (("dims", dims, _DIMS), ("sel", sel, _SEL), ("nearest", nearest, _SEL)):
        if not isinstance(cuts, Mapping):
            raise TypeError(f"{option}={cuts!r}: a mapping is expected, such as {example!r}")
    if not (dims or sel or nearest):
        return subset
    from nczarr.pipeline.select.selection_syntax import coordinate_ranges_of, dimension_ranges_of

    return subset._replace(dimensions=dimension_ranges_of(dims), labels=coordinate_ranges_of(sel, nearest))


_DIMS = {"time": slice(0, 12)}
"""Example of cuts by indices."""

_SEL = {"lat": 45.5}
"""Example of values of coordinates."""

_MAPPINGS: dict[str, Mapping[str, object]] = {
    "chunks": {"time": 10},
    "shards": {"time": 100},
    "codecs": {"/v": "zlib:4"},
}
"""Options that are mappings, with an example."""

_SAME = ConvertOptions.__annotations__.keys() & PARTS.keys() - {
    *("kind", "chunks", "shards", "codecs", "allow_loss", *SubsetOptions.__annotations__)
}
"""Options passed on unchanged."""

_DEFAULTS: Mapping[str, Any] = {
    **{name: Options().find(name) for name in PARTS},
    "aggregation": "expand",
    **dict.fromkeys(("layout", "chunks", "shards", "codecs", "storage_options", "from_format")),
    **dict.fromkeys(("allow_loss", "variables", "exclude", "groups", "sections", "unlimited"), ()),
    **dict.fromkeys(("dims", "sel", "nearest"), MappingProxyType({})),
    "fixed": False,
    "coordinates": True,
}
"""Defaults shown in signatures."""


def _check_mapping(option: str, mapping: object, example: Mapping[str, object]) -> None:
    """Raise TypeError for a value that the option does not take."""
    if mapping is None or (isinstance(mapping, str) and (option != "chunks" or not mapping.isdigit())):
        return
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{option}={mapping!r}: a mapping is expected, such as {example!r}")
    for name, value in mapping.items():
        lengths = None if option == "codecs" else () if isinstance(value, str) else _lengths(value)
        if lengths is None and not (option == "codecs" and isinstance(value, str)):
            raise TypeError(f"{option}={{{name!r}: {value!r}}}: a value is expected as in {example!r}")
        if any(length < 1 and length != WHOLE for length in lengths or ()):
            text = "a length is at least 1, or -1 for the whole dimension"
            raise ValueError(f"{option}={{{name!r}: {value!r}}}: {text}")


def _lengths(lengths: Any) -> tuple[int, ...] | None:
    """Return chunk or shard lengths; None for other values."""
    several = lengths if isinstance(lengths, Sequence) else (lengths,)
    are_integers = all(hasattr(length, "__index__") and not isinstance(length, bool) for length in several)
    return tuple(map(index, several)) if are_integers else None


def _losses(words: Iterable[str]) -> frozenset[str]:
    """Return the accepted losses. Raises ValueError for an unknown one."""
    accepted = frozenset(names.list_texts(words))
    if accepted:
        from nczarr.diagnostics.accepted_losses import find_disallowed

        for message in filter(None, map(find_disallowed, sorted(accepted))):
            raise ValueError(message)
    return accepted
