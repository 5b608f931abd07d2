"""CF encoding of the variables of one xarray dataset, by xarray's own coders.

The result is what xarray's writers of netCDF files store: numbers with `units`
for times, packed values, fill values, `coordinates`, and texts. Lazy arrays stay
lazy.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import uuid4

from nczarr.api.builder.pieces import Site, UnsuitedValueError, block_error
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.registry import ALL_ATOMIC, NETCDF_KINDS

if TYPE_CHECKING:
    from xarray import Dataset, Variable

    from nczarr.ast import Kind


REMEDY = "change `dtype`, `scale_factor` or `add_offset` in the encoding, or give a `_FillValue` for missing values"


class Packing(NamedTuple):
    """Packing of a variable by its encoding."""

    dtype: np.dtype[Any]
    """Dtype of the packed values; the one that `_Unsigned` names."""
    scale: float
    """`scale_factor`."""
    offset: float
    """`add_offset`."""
    has_fill: bool
    """True if a fill value stands for NaN."""


def packing_of(original: Variable, encoded: Variable) -> Packing | None:
    """Return the packing of an encoded variable; None if it can store every value of the dtype of `original`."""
    dtype, encoding = encoded.dtype, original.encoding
    scale, offset = (encoding.get(name) for name in ("scale_factor", "add_offset"))
    is_packed = scale is not None or offset is not None
    if (
        original.dtype.kind not in "iuf"
        or dtype.kind not in "iuf"
        or (not is_packed and np.can_cast(original.dtype, dtype, "safe"))
    ):
        return None
    unsigned = str(encoding.get("_Unsigned", "")).lower() if "_Unsigned" in encoded.attrs else ""
    kind = {"true": "u", "false": "i"}.get(unsigned, dtype.kind)
    stored = dtype if dtype.kind == "f" else np.dtype(f"{kind}{dtype.itemsize}")
    has_fill = any(encoding.get(name) is not None for name in MISSING_MARKS)
    return Packing(stored, 1.0 if scale is None else float(scale), 0.0 if offset is None else float(offset), has_fill)


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
                beyond |= np.isnan(packed) & (not packing.has_fill)
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
    problem = find_misfit(np.asarray(original.data), packing)
    if problem is not None:
        raise UnsuitedValueError("value-range", f"variable {name!r}: {problem}", REMEDY)
    return encoded


def _block(encoded: NDArray[Any], original: NDArray[Any], *, name: str, packing: Packing) -> NDArray[Any]:
    """Return a block of encoded values after a check of the values it was made of."""
    problem = find_misfit(np.asarray(original), packing)
    if problem is not None:
        raise block_error("value-range", f"variable {name!r}: {problem}", REMEDY)
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
    dataset: Dataset, encoding: Mapping[Hashable, Mapping[Any, Any]], site: Site, where: str, *, kind: Kind | None
) -> EncodedDataset:
    """Encode a dataset. Reports undefined-variable, unencodable-variable.

    `encoding` replaces the encoding of the variables that it names. `kind`: use
    only the types of this kind of netCDF file.
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
    originals = {name: _prepare(name, variable) for name, variable in variables.items()}
    variables = originals
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
            stored_variables[name] = _convert_stored(name, check_fits(str(name), originals[name], variable), kind=kind)
        except UnsuitedValueError as refused:
            site.error(refused.code, f"{where}: {refused}", helps=(refused.remedy,) * bool(refused.remedy))
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
    site.error("unencodable-variable", f"{where}: variable {name!r} cannot be encoded: {_error_text(error)}")


def _error_text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:DETAIL]}{'…' if len(text) > DETAIL else ''}"


def _prepare(name: Hashable, variable: Variable) -> Variable:
    """Return a variable whose arrays stay lazy in xarray's coders, which load all but dask arrays of some types."""
    if not variable._in_memory and variable.nbytes > LAZY and variable.dtype.kind in "iufcb" and _has_dask():
        chunks = variable.encoding.get("preferred_chunks") or "auto"
        variable = variable.chunk(chunks, name=f"{name}-{uuid4().hex}")
    if variable.dtype.kind == "T" and hasattr(variable.data, "map_blocks"):  # NumPy's StringDType
        dtype = np.dtype("O", metadata={"element_type": str})  # xarray's mark of texts
        texts = variable.data.map_blocks(_without_nulls, dtype=dtype, meta=np.empty((0,) * variable.ndim, dtype))
        variable = variable.copy(deep=False, data=texts)
    if variable.dtype.kind == "O" and variable._in_memory and variable.size:
        values = variable.values
        if all(isinstance(item, bool | np.bool_) for item in values.flat):
            variable = variable.copy(deep=False, data=values.astype(bool))
    return variable


def _has_dask() -> bool:
    from importlib.util import find_spec

    return find_spec("dask") is not None


def _without_nulls(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as `str`, empty for nulls; the shape of `values`, dtype object."""
    texts = np.array(values, object)
    texts[~np.vectorize(lambda value: isinstance(value, str), otypes=[bool])(texts)] = ""
    return texts


def _convert_stored(name: Hashable, variable: Variable, *, kind: Kind | None) -> Variable:
    """Return a CF-encoded variable with texts and numbers of types that a netCDF file has."""
    from xarray.backends import netcdf3
    from xarray.backends.common import ensure_dtype_not_object
    from xarray.coding import strings

    coders: Any = strings
    variable = ensure_dtype_not_object(variable, name=name)
    types = ALL_ATOMIC if kind is None else NETCDF_KINDS[kind].atomic
    if "int64" not in types:
        encode: Any = netcdf3.encode_nc3_variable
        return cast("Variable", encode(variable, name=name))
    variable = coders.EncodedStringCoder(allows_unicode="string" in types).encode(variable, name=name)
    return cast("Variable", coders.CharacterArrayCoder().encode(variable, name=name))
