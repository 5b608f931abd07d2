"""CF encoding of the variables of one xarray dataset, by xarray's own coders.

The result is what xarray's writers of netCDF files store: numbers with `units`
for times, packed values, fill values, `coordinates`, and texts. Lazy arrays stay
lazy.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import uuid4

from nczarr.api.builder.pieces import Site, UnsuitedValueError, block_error, caller, in_block
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity
from nczarr.plugins.xarray.objects.pandas_columns import TEXTS, convert_column, find_texts, refuse_nested, store_column
from nczarr.registry import ALL_ATOMIC, NETCDF_KINDS

if TYPE_CHECKING:
    from xarray import Dataset, Variable

    from nczarr.ast import Kind


REMEDY = "change `dtype`, `scale_factor` or `add_offset` in the encoding, or give a `_FillValue` for missing values"

OTHER_FILL = "choose another `_FillValue` in the encoding, or make values NaN that are missing"


class Packing(NamedTuple):
    """Packing of a variable by its encoding."""

    dtype: np.dtype[Any]
    """Dtype of the packed values; the one that `_Unsigned` names."""
    scale: float
    """`scale_factor`."""
    offset: float
    """`add_offset`."""
    is_exact: bool
    """True if the dtype has every value of the variable as it is."""
    fills: Mapping[str, Any]
    """Fill values as they are stored, by their attributes."""


def packing_of(original: Variable, encoded: Variable) -> Packing | None:
    """Return the packing of an encoded variable; None if it can store every value of the dtype of `original`."""
    dtype, encoding = encoded.dtype, original.encoding
    scale, offset = (encoding.get(name) for name in ("scale_factor", "add_offset"))
    is_packed = scale is not None or offset is not None
    fills = {name: encoded.attrs.get(name) for name in MISSING_MARKS if encoding.get(name) is not None}
    is_exact = (
        original.dtype.kind not in "iuf"
        or dtype.kind not in "iuf"
        or (not is_packed and np.can_cast(original.dtype, dtype, "safe"))
    )
    if is_exact and not fills:
        return None
    unsigned = str(encoding.get("_Unsigned", "")).lower() if "_Unsigned" in encoded.attrs else ""
    kind = {"true": "u", "false": "i"}.get(unsigned, dtype.kind)
    stored = np.dtype(f"{kind}{dtype.itemsize}") if dtype.kind in "iu" else dtype
    return Packing(
        stored, 1.0 if scale is None else float(scale), 0.0 if offset is None else float(offset), is_exact, fills
    )


def refuse_misfit(name: str, encoded: NDArray[Any], original: NDArray[Any], packing: Packing) -> None:
    """Raise UnsuitedValueError with `value-range` if a value cannot be stored, or would be read as missing.

    `encoded`, `original`: the values as they are stored, and before.
    """
    problem = None if packing.is_exact else find_misfit(original, packing)
    if problem is not None:
        raise UnsuitedValueError("value-range", f"variable {name!r}: {problem}", REMEDY)
    for mark, fill in packing.fills.items():
        equal = encoded == fill
        if np.any(equal):
            import pandas as pd

            hidden = original[np.asarray(equal & ~pd.isna(original))]
            if hidden.size:
                text = f"{hidden[0]} is stored as {fill}, the `{mark}` of its encoding, and would be read as missing"
                raise UnsuitedValueError("value-range", f"variable {name!r}: {text}", OTHER_FILL)


def find_misfit(values: NDArray[Any], packing: Packing) -> str | None:
    """Return why a value cannot be stored, of the first that cannot; None if all can. `values`: numbers, any shape."""
    dtype, is_packed = packing.dtype, (packing.scale, packing.offset) != (1.0, 0.0)
    with np.errstate(all="ignore"):
        packed = (values - packing.offset) / packing.scale if is_packed else values
        if dtype.kind == "f":
            beyond = np.isfinite(packed) & np.isinf(packed.astype(dtype))
        else:
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            if packed.dtype.kind == "f":  # it is rounded
                beyond = (packed < low - 0.5) | (packed >= high + 0.5)  # xarray rounds to the nearest
                beyond |= np.isnan(packed) & (not packing.fills)
            else:
                beyond = (packed < low) | (packed > high)
    if not beyond.any():
        return None
    packed_as = f", packed as {packed[beyond][0]}," if is_packed else ""
    return f"{values[beyond][0]}{packed_as} does not fit dtype {dtype} of its encoding"


def check_fits(name: str, original: Variable, encoded: Variable) -> Variable:
    """Return an encoded variable whose values fit; the blocks of a dask array are checked when they are computed.

    `original`: the variable before it was encoded. Raises UnsuitedValueError with
    `value-range`.
    """
    packing = packing_of(original, encoded)
    if packing is None:
        return encoded
    if hasattr(original.data, "map_blocks"):
        check = partial(_block, name=name, packing=packing)
        return encoded.copy(
            deep=False, data=encoded.data.map_blocks(check, original.data, dtype=encoded.dtype, meta=encoded.data._meta)
        )
    refuse_misfit(name, np.asarray(encoded.data), np.asarray(original.data), packing)
    return encoded


def _block(encoded: NDArray[Any], original: NDArray[Any], *, name: str, packing: Packing) -> NDArray[Any]:
    """Return a block of encoded values after a check of the values it was made of."""
    with in_block():
        refuse_misfit(name, np.asarray(encoded), np.asarray(original), packing)
    return encoded


LAZY = 64 << 20
"""Bytes of an unloaded variable above which it becomes a dask array."""

DETAIL = 300
"""Maximum length of a quoted error of xarray."""


class EncodedDataset(NamedTuple):
    """Content of one dataset, ready to be declared."""

    variables: dict[Hashable, Variable]
    """Encoded variables, coordinates included; `encoding` has the keys that concern storage."""
    attributes: dict[Hashable, Any]
    """Attributes of the dataset."""
    enums: dict[Hashable, Mapping[str, Any]]
    """Metadata of the dtypes that are enums, by variable; dask arrays lose them."""


def encode_dataset(
    dataset: Dataset,
    encoding: Mapping[Hashable, Mapping[Any, Any]],
    site: Site,
    where: str,
    kind: Kind | None,
    accepted: frozenset[str],
) -> EncodedDataset:
    """Encode a dataset. Reports undefined-variable, unencodable-variable, lost-nil.

    `encoding` replaces the encoding of the variables that it names. `kind`: use
    only the types of this kind of netCDF file. `accepted`: accepted losses.
    """
    from xarray import conventions

    try:
        variables, attributes = conventions.encode_dataset_coordinates(dataset)
    except ValueError as error:
        site.error("unencodable-variable", f"{where}: {_error_text(error)}")
        return EncodedDataset({}, {}, {})
    for name, variable_encoding in encoding.items():
        if name in variables:
            variables[name].encoding = dict(variable_encoding)
    enums = {name: enum for name, variable in variables.items() if (enum := _enum(variable)) is not None}
    types = ALL_ATOMIC if kind is None else NETCDF_KINDS[kind].atomic
    originals: dict[Hashable, Variable] = {}
    for name, variable in variables.items():
        try:
            originals[name] = _prepare(name, variable, site, is_classic="int64" not in types)
        except UnsuitedValueError as refused:
            site.error(refused.code, f"{where}: {refused}", helps=(refused.remedy,) * bool(refused.remedy))
    variables = dict(originals)
    texts = _Texts(site, where, frozenset(types), bool(accepted & {"lost-nil", "all"}))
    try:
        variables, attributes = conventions.cf_encoder(variables, attributes)
    except Exception:  # of any library; the variables show which one
        variables = {
            name: encoded_variable
            for name, variable in variables.items()
            if (encoded_variable := _encode_variable(name, variable, site, where)) is not None
        }
    stored_variables = {}
    for name, variable in variables.items():
        try:
            stored_variables[name] = _convert_stored(name, check_fits(str(name), originals[name], variable), texts)
        except UnsuitedValueError as refused:
            site.error(refused.code, f"{where}: {refused}", helps=(refused.remedy,) * bool(refused.remedy))
        except CompileError as refused:  # of a block of dask that the coders computed
            for found in refused.diagnostics:
                site.error(found.code, f"{where}: {found.message}", helps=found.helps)
        except Exception as error:  # coders raise anything, and users' arrays as well
            _report(name, error, site, where)
    return EncodedDataset(stored_variables, dict(attributes), enums)


def _enum(variable: Variable) -> Mapping[str, Any] | None:
    """Return the metadata that make an enum of the dtype of a variable, or of its encoding."""
    for dtype in (variable.encoding.get("dtype"), variable.dtype):
        metadata = getattr(dtype, "metadata", None) or {}
        if metadata.get("enum") and metadata.get("enum_name"):
            return cast("Mapping[str, Any]", metadata)
    return None


def _encode_variable(name: Hashable, variable: Variable, site: Site, where: str) -> Variable | None:
    from xarray import conventions

    try:
        return conventions.encode_cf_variable(variable.copy(deep=False), name=name)
    except Exception as error:
        _report(name, error, site, where)
        return None


def _report(name: Hashable, error: Exception, site: Site, where: str) -> None:
    helps = ["convert the values to one type: numbers, times, or texts by `astype(str)`"] * (
        "infer dtype" in str(error)
    )
    text = f"{where}: variable {name!r} cannot be encoded: {_error_text(error)}"
    site.error("unencodable-variable", text, helps=helps)


def _error_text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:DETAIL]}{'…' if len(text) > DETAIL else ''}"


def _prepare(name: Hashable, variable: Variable, site: Site, *, is_classic: bool) -> Variable:
    """Return a variable whose arrays xarray's coders keep: large ones lazy, missing texts None, no arrays of pandas.

    xarray's coders take or refuse other objects. Raises UnsuitedValueError.
    """
    if isinstance(variable.dtype, np.dtype):
        if variable.dtype.kind in "OT":
            return _prepare_objects(name, variable)
        if not variable._in_memory and variable.nbytes > LAZY and variable.dtype.kind in "iufcb" and _has_dask():
            chunks = variable.encoding.get("preferred_chunks") or "auto"
            variable = variable.chunk(chunks, name=f"{name}-{uuid4().hex}")
        return variable
    is_index = hasattr(variable, "to_index") and variable.ndim == 1
    what = f"variable {name!r}"
    column = convert_column(variable.to_index() if is_index else variable.data, what)
    if column is None:
        return variable
    stored = store_column(column, variable.encoding, what, is_classic=is_classic)
    for detail in column.lost:
        site.report.warning("pandas-dtype", f"{what}: the dataset does not keep {detail}", caller())
    attributes, encoding = variable.attrs | stored.attributes, variable.encoding | stored.encoding
    return _with_data(variable, stored.values)._replace(attrs=attributes, encoding=encoding)


def _prepare_objects(name: Hashable, variable: Variable) -> Variable:
    """Return an array of objects with texts as `str` or None, or with booleans; others as they are.

    Raises UnsuitedValueError for lists.
    """
    from xarray import SerializationWarning

    is_lazy = hasattr(variable.data, "map_blocks")
    if variable.dtype.kind == "T" or _is_of(str, variable.dtype):
        if not is_lazy:
            return _with_data(variable, _with_nil(variable.values))
        texts = variable.data.map_blocks(_with_nil, dtype=TEXTS, meta=np.empty((0,) * variable.ndim, TEXTS))
        return variable.copy(deep=False, data=texts)
    is_index = hasattr(variable, "to_index") and variable.ndim == 1
    if is_index and variable.to_index().nlevels > 1:
        return variable  # xarray's coders say what to do
    first = next(iter(variable[(slice(0, 1),) * variable.ndim].values.flat), None)
    if type(first).__module__.partition(".")[0] == "cftime":
        return variable  # xarray encodes times of dask block by block
    if is_lazy:
        warnings.warn(
            f"variable {name!r} is a dask array with dtype=object, which is loaded", SerializationWarning, stacklevel=2
        )
        variable = variable.compute()
    values = variable.values
    refuse_nested(values, f"variable {name!r}")
    if values.size and all(isinstance(item, bool | np.bool_) for item in values.flat):
        return _with_data(variable, values.astype(bool))
    found = find_texts(values)
    return variable if found is None else _with_data(variable, found)


def _with_data(variable: Variable, values: NDArray[Any]) -> Variable:
    """Return a variable with other values; an index would convert them."""
    base = variable.to_base_variable() if hasattr(variable, "to_index") else variable
    return base._replace(data=values)


def _is_of(element: type, dtype: np.dtype[Any]) -> bool:
    """Return whether the metadata of a dtype of objects are xarray's mark of `str` or `bytes`."""
    return dict(dtype.metadata or {}).get("element_type") is element


def _has_dask() -> bool:
    from importlib.util import find_spec

    return find_spec("dask") is not None


def _with_nil(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as `str`, None for those that are missing; the shape of `values`, dtype object."""
    texts = np.array(values, object)
    texts[~np.vectorize(lambda value: isinstance(value, str), otypes=[bool])(texts)] = None
    return texts


class _Texts(NamedTuple):
    """Types for texts, and the accepted loss."""

    site: Site
    """Takes the diagnostics."""
    where: str
    """Dataset or group, for messages."""
    types: frozenset[str]
    """Atomic types that there are."""
    accepts_nil: bool
    """True: a missing text may become an empty one."""


_NIL = "missing texts, which would become empty, because chars have no NIL"
_NIL_REMEDY = "store texts (`str`) as strings of a netCDF-4 file, or write the rest with `--allow-loss lost-nil`"


def _convert_stored(name: Hashable, variable: Variable, texts: _Texts) -> Variable:
    """Return a CF-encoded variable with texts and numbers of types that a netCDF file has."""
    from xarray.backends import netcdf3
    from xarray.backends.common import ensure_dtype_not_object
    from xarray.coding import strings

    coders: Any = strings
    objects, variable = variable, ensure_dtype_not_object(variable, name=name)
    if objects is not variable and _is_of(bytes, variable.dtype):
        _report_nil(name, np.asarray([not isinstance(one, bytes) for one in objects.values.flat]), texts)
    if _is_of(str, variable.dtype):
        if "string" in texts.types and variable.encoding.get("dtype") != "S1":
            return variable  # xarray's coders would make NaN of None
        variable = _without_nil(name, variable, texts)
    if "int64" not in texts.types:
        encode: Any = netcdf3.encode_nc3_variable
        return cast("Variable", encode(variable, name=name))
    variable = coders.EncodedStringCoder(allows_unicode="string" in texts.types).encode(variable, name=name)
    return cast("Variable", coders.CharacterArrayCoder().encode(variable, name=name))


def _without_nil(name: Hashable, variable: Variable, texts: _Texts) -> Variable:
    """Return texts that become chars, empty where they are missing. Reports lost-nil; blocks of dask raise it."""
    if hasattr(variable.data, "map_blocks"):
        fill = partial(_fill_nil, name=name, accepts_nil=texts.accepts_nil)
        return variable.copy(deep=False, data=variable.data.map_blocks(fill, dtype=TEXTS, meta=variable.data._meta))
    _report_nil(name, _find_nil(variable.values), texts)
    return variable.copy(deep=False, data=_fill_nil(variable.values, name=name, accepts_nil=True))


def _report_nil(name: Hashable, missing: NDArray[np.bool_], texts: _Texts) -> None:
    """Report lost-nil for missing texts that become chars."""
    if not missing.any():
        return
    text = f"{texts.where}: variable {name!r} has {missing.sum()} {_NIL}"
    severity, helps = (Severity.WARNING, ()) if texts.accepts_nil else (Severity.ERROR, (_NIL_REMEDY,))
    texts.site.report.add(Diagnostic("lost-nil", severity, text, Label(caller()), helps=helps))


def _find_nil(texts: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where texts are None, as bools in their shape."""
    return np.array([text is None for text in texts.flat], bool).reshape(texts.shape)


def _fill_nil(block: NDArray[Any], *, name: Hashable, accepts_nil: bool) -> NDArray[Any]:
    """Return texts with empty ones for None."""
    missing = _find_nil(block)
    if missing.any() and not accepts_nil:
        text = f"variable {name!r} has {missing.sum()} {_NIL}"
        raise block_error("lost-nil", text, _NIL_REMEDY)
    filled = np.full(block.shape, "", TEXTS)
    filled[~missing] = block[~missing]
    return filled
