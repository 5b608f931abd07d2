"""Declaration of xarray objects in a `DatasetBuilder`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr import names
from nczarr.api.builder import DatasetBuilder, GroupBuilder
from nczarr.api.builder.dtypes import CODES
from nczarr.api.builder.pieces import Site, TypeHandle, UnsuitedValueError, caller
from nczarr.api.builder.values import infer
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.elements import declare_type, element_of
from nczarr.ast import EnumType
from nczarr.ast.dataset import KIND_SPELLINGS
from nczarr.ast.plain_json import JsonText, write_json
from nczarr.diagnostics.report import suggest
from nczarr.plugins.xarray.objects.encode import encode_dataset
from nczarr.plugins.xarray.objects.storage import StorageArguments, check_keys, rounding, storage_of
from nczarr.registry import NETCDF_KINDS

if TYPE_CHECKING:
    from xarray import Dataset, DataTree, Variable

    from nczarr.api.handle import DatasetHandle
    from nczarr.ast import Kind


ATOMIC = CODES | {"f2": "float"}
"""Types by kind and size of a dtype."""

NONE = "__values__"
"""Variable of a dataset with the name None; xarray's readers know it."""

UNNAMED = "__xarray_dataarray_variable__"
"""Variable of a data array without a name, or with the name of a coordinate; xarray's own name for it."""


NAME = "__xarray_dataarray_name__"
"""Attribute of xarray for the name that a data array shares with a coordinate or dimension."""


class Requests(NamedTuple):
    """Requests of a call."""

    encoding: Mapping[Any, Any]
    """Encoding by variable, or of a tree by group and variable."""
    unlimited: Any
    """Unlimited dimensions, of a tree by group; None: those of the objects' encoding."""
    kind: Kind | None
    """Kind of netCDF file whose types to use; None: the widest."""
    accepted: frozenset[str]
    """Accepted losses."""


class Shards(NamedTuple):
    """Requested shards of one variable."""

    lengths: tuple[int, ...] | str
    """Shard lengths, or `auto`."""
    given: bool
    """True if the call requests them; False if the variable has them from its file."""


class DeclaredDataset(NamedTuple):
    """A dataset made of an xarray object."""

    handle: DatasetHandle
    """The checked dataset."""
    shards: dict[str, Shards]
    """Requested shards by path of a variable, which only the options of a run can hold."""


def is_xarray(candidate: object) -> bool:
    """Return whether an object is a dataset, data array or data tree of xarray; xarray is not imported."""
    class_names = {"Dataset", "DataArray", "DataTree"}
    return any(
        base.__module__.partition(".")[0] == "xarray" and base.__name__ in class_names
        for base in type(candidate).__mro__
    )


def declare(
    data: Any,
    name: str,
    encoding: Mapping[Any, Any] | None,
    unlimited: Any,
    group: str | None,
    kind: str | None,
    types_of: str | None = None,
    *,
    lists: bool = False,
    accepted: frozenset[str] = frozenset(),
) -> DeclaredDataset:
    """Return the dataset of an xarray object. Raises CompileError with all diagnostics, TypeError for other objects.

    `kind`: kind of netCDF file that the dataset has. `types_of`: kind whose types
    it uses, if it has none of its own. `lists`: lists of one or no value are JSON.
    `accepted`: accepted losses.
    """
    for what, value, expected in (("encoding", encoding, Mapping), ("group", group, str)):
        if value is not None and not isinstance(value, expected):
            raise TypeError(f"`{what}` is {value!r}, which is not a {expected.__name__}")
    builder = DatasetBuilder(name, kind=kind)
    builder._site.collects = True
    root: GroupBuilder = builder
    for part in names.split("/" + group.strip("/")) if group else ():
        root = root.group(part)
    types = kind if kind is not None else types_of
    requests = Requests(encoding or {}, unlimited, None if types is None else KIND_SPELLINGS.get(str(types)), accepted)
    work = _Declaration(builder._site, requests, lists=lists)
    if not is_xarray(data):
        raise TypeError(f"{type(data).__name__} is not a Dataset, DataArray or DataTree of xarray")
    if hasattr(data, "subtree"):
        work.tree(data, root)
    else:
        work.dataset(_dataset(data), root, "the dataset", requests.encoding, requests.unlimited, {}, {})
    return DeclaredDataset(builder.finish(work.data), work.shards)


def _dataset(data: Any) -> Dataset:
    """Return a data array as the dataset that its `to_netcdf` writes; a dataset as it is."""
    if hasattr(data, "data_vars"):
        return data  # type: ignore[no-any-return]
    if data.name is not None and data.name not in data.coords and data.name not in data.dims:
        return data.to_dataset()  # type: ignore[no-any-return]
    dataset: Dataset = data.to_dataset(name=UNNAMED)
    return dataset if data.name is None else dataset.assign_attrs({NAME: data.name})


class _Declaration:
    """One run: the values of all variables by path, and the requests that are not part of the tree."""

    def __init__(self, site: Site, requests: Requests, *, lists: bool) -> None:
        self.data: dict[str, Any] = {}
        self.shards: dict[str, Shards] = {}
        self._site = site
        self._requests = requests
        self._lists = lists
        self._is_classic = requests.kind is not None and not NETCDF_KINDS[requests.kind].groups

    def tree(self, tree: DataTree, root: GroupBuilder) -> None:
        """Declare every group of a tree; inherited coordinates stand in the group that owns them."""
        top = tree.path
        paths = {node.path: _relative(node.path, top) for node in tree.subtree}
        encoding, unlimited = self._requests.encoding, self._requests.unlimited
        for what, by_group in (("encoding", encoding), ("unlimited_dims", unlimited)):
            if isinstance(by_group, Mapping):
                for path in by_group:
                    if path not in paths and path not in paths.values():
                        text = f"`{what}` names {path!r}, which is not a group of the tree"
                        self._site.error("undefined-group", text, helps=suggest(str(path), paths.values()))
        builders: dict[str, tuple[GroupBuilder, dict[Hashable, int], dict[str, TypeHandle]]] = {}
        for node in tree.subtree:
            if node is tree:
                builder, sizes, types = root, dict[Hashable, int](), dict[str, TypeHandle]()
            else:
                assert node.parent is not None
                outer, sizes, types = builders[node.parent.path]
                builder = outer.group(str(node.name))
            sizes, types = dict(sizes), dict(types)
            builders[node.path] = builder, sizes, types
            node_encoding = encoding.get(node.path, encoding.get(paths[node.path], {}))
            growing = unlimited
            if isinstance(unlimited, Mapping):
                growing = unlimited.get(node.path, unlimited.get(paths[node.path]))
            dataset = node.to_dataset(inherit=node is tree)
            self.dataset(dataset, builder, f"group {paths[node.path]!r}", node_encoding, growing, sizes, types)

    def dataset(
        self,
        dataset: Dataset,
        group: GroupBuilder,
        where: str,
        encoding: Mapping[Any, Any],
        unlimited: Any,
        sizes: dict[Hashable, int],
        types: dict[str, TypeHandle],
    ) -> None:
        """Declare a dataset in a group. `sizes`, `types`: dimensions and types in scope, which grow."""
        wrong = self._check_names(dataset, where)
        for name, variable_encoding in encoding.items():
            if name not in dataset.variables:
                text = f"{where}: `encoding` names {name!r}, which is not a variable"
                self._site.error("undefined-variable", text, helps=suggest(str(name), map(str, dataset.variables)))
            elif not isinstance(variable_encoding, Mapping):
                text = f"{where}: `encoding` of variable {name!r} is {variable_encoding!r}, which is not a mapping"
                self._site.error("unknown-encoding", text)
            else:
                check_keys(name, variable_encoding, self._site)
        encoding = {name: keys for name, keys in encoding.items() if isinstance(keys, Mapping)}
        named = dataset.drop_vars([name for name in wrong if name in dataset.variables])
        encoded_dataset = encode_dataset(
            named, encoding, self._site, where, self._requests.kind, self._requests.accepted
        )
        if wrong:
            return
        growing = self._list_unlimited(dataset, where, unlimited)
        for name, value in encoded_dataset.attributes.items():
            self._attribute(group, name, value)
        used = dict.fromkeys(axis for axis in dataset.sizes if axis in growing)  # unlimited dimensions stand first
        lengths: dict[Hashable, int] = {}
        for variable in encoded_dataset.variables.values():
            lengths |= variable.sizes
        for axis in [*used, *(axis_name for axis_name in lengths if axis_name not in used)]:
            length = lengths.get(axis, dataset.sizes.get(axis, 0))
            if sizes.get(axis) != length or axis in growing:
                # a classic file has no other dimension of length 0, so `to_netcdf` writes an unlimited one as well
                grows = axis in growing or (not length and self._is_classic)
                group.dimension(axis, length, unlimited=grows)  # type: ignore[arg-type]
                if grows and axis not in growing:
                    text = f"{where}: dimension `{axis}` has length 0, which classic files have as unlimited"
                    self._site.report.warning("zero-dimension", text, caller())
                sizes[axis] = length
        for name, variable in encoded_dataset.variables.items():
            storage = storage_of(name, variable, growing, self._site, given=name in encoding)
            path = self._declare_variable(group, name, variable, storage, types, encoded_dataset.enums.get(name))
            if path is not None and storage.shards is not None:
                self.shards[path] = Shards(storage.shards, name in encoding)

    def _check_names(self, dataset: Dataset, where: str) -> list[Hashable]:
        """Return names that are neither texts nor the None of one variable. Reports bad-name."""
        roles = {**dict.fromkeys(dataset.dims, "dimension"), **dict.fromkeys(dataset.variables, "variable")}
        wrong = {name: role for name, role in roles.items() if not isinstance(name, str | None)}
        for name, role in wrong.items():
            text = f"{where}: the name of {role} {name!r} is not a text"
            self._site.error("bad-name", text, helps=[f"rename it: `data.rename({{{name!r}: {str(name)!r}}})`"])
        return list(wrong)

    def _list_unlimited(self, dataset: Dataset, where: str, requested: Any) -> frozenset[Hashable]:
        """Return the unlimited dimensions. Reports undefined-dimension."""
        declared_axes = requested if requested is not None else dataset.encoding.get("unlimited_dims")
        is_single = isinstance(declared_axes, str) or not isinstance(declared_axes, Iterable)
        axes = [] if declared_axes is None else [declared_axes] if is_single else list(declared_axes)
        for axis in axes:
            if axis not in dataset.dims:
                text = f"{where}: unlimited dimension {axis!r} is not a dimension of the dataset"
                if requested is not None:
                    helps = suggest(str(axis), map(str, dataset.dims))
                    self._site.error("undefined-dimension", text, helps=helps)
                else:
                    self._site.report.warning("unused-encoding", text, caller())
        return frozenset(axis for axis in axes if axis in dataset.dims)

    def _declare_variable(
        self,
        group: GroupBuilder,
        name: Hashable,
        variable: Variable,
        storage: StorageArguments,
        types: dict[str, TypeHandle],
        enum: Mapping[str, Any] | None,
    ) -> str | None:
        """Declare a variable and return its path; None if its dtype has no type."""
        attributes = dict(variable.attrs)
        data = variable.data
        try:
            digits = rounding(variable.encoding)
        except ValueError as error:
            self._site.error("unknown-encoding", f"variable {name!r}: {error}")
            return None
        if digits is not None and data.dtype.kind == "f":
            data = _round(data, digits)
            attributes["least_significant_digit"] = variable.encoding["least_significant_digit"]
        kind, element = self._choose_type(group, name, data.dtype, types, enum)
        if kind is None:
            return None
        builder = group.variable(
            NONE if name is None else name,  # type: ignore[arg-type]
            kind,
            list(variable.dims),  # type: ignore[arg-type]
            chunks=storage.chunks,
            codecs=[(codec.id, *codec.parameters) for codec in storage.codecs],
            layout=storage.layout,
            endian=storage.endian,
            quantize=storage.quantize,
        )
        pending = builder._pending
        if element is not None:
            pending.storage = pending.storage.model_copy(update={"element": element})
        fill = attributes.pop("_FillValue", None)
        if fill is not None:
            builder.attribute("_FillValue", _fill(fill, data.dtype), kind)
        for key, value in attributes.items():
            self._attribute(builder, key, value)
        self.data[builder.path] = _plain(data)
        return builder.path

    def _choose_type(
        self,
        group: GroupBuilder,
        name: Hashable,
        dtype: Any,
        types: dict[str, TypeHandle],
        enum: Mapping[str, Any] | None,
    ) -> tuple[TypeHandle | str | None, str | None]:
        """Return the type of a dtype, and the store's element where the type is another. Reports type-mismatch."""
        if enum is not None and self._is_classic:
            text = f"variable {name!r}: classic files have no enum, so the names of its values are left out"
            self._site.report.warning("unused-encoding", text, caller())
        elif enum is not None and dtype.kind in "iu":
            return self._enum(group, name, dtype, types, enum), None
        if dtype.kind in "UTO" or (dtype.kind == "S" and dtype.itemsize > 1):
            return "string", None
        atomic = ATOMIC.get(f"{dtype.kind}{dtype.itemsize}")
        element = element_of(dtype.newbyteorder("<").str) if dtype.names is None and dtype.kind in "fc" else None
        if atomic is not None:
            return atomic, element
        if element is not None:
            return self._find_type(
                group, types, element, lambda: group._declare(declare_type(element, element))
            ), element
        if dtype.names is not None and (record := self._record(group, dtype, types)) is not None:
            return record, None
        self._site.error("type-mismatch", f"variable {name!r}: dtype {dtype} has no netCDF type")
        return None, None

    @staticmethod
    def _find_type(group: GroupBuilder, types: dict[str, TypeHandle], name: str, make: Any) -> TypeHandle:
        if name not in types:
            types[name] = make()
        return types[name]

    def _enum(
        self,
        group: GroupBuilder,
        name: Hashable,
        dtype: Any,
        types: dict[str, TypeHandle],
        metadata: Mapping[str, Any],
    ) -> TypeHandle | None:
        """Return the enum that the metadata of a dtype describes, declared once; None after a reported conflict."""
        enum_name, constants = str(metadata["enum_name"]), {str(key): value for key, value in metadata["enum"].items()}
        base = ATOMIC[f"{dtype.kind}{dtype.itemsize}"]
        handle = self._find_type(group, types, enum_name, lambda: group.enum(enum_name, base, constants))
        before = handle.declared
        if (
            not isinstance(before, EnumType)
            or before.base != base
            or constants != {constant.name: constant.value for constant in before.constants}
        ):
            self._site.error(
                "duplicate-name",
                f"variable {name!r}: enum `{enum_name}` is defined twice, with different constants",
                helps=["name the enums differently in the metadata of the dtypes (`enum_name`)"],
            )
            return None
        return handle

    def _record(self, group: GroupBuilder, dtype: Any, types: dict[str, TypeHandle]) -> TypeHandle | None:
        """Return a compound with the fields of a structured dtype; None if a field has no type."""
        fields: dict[str, Any] = {}
        for name in dtype.names:
            base, shape = dtype[name].base, dtype[name].shape
            inner: Any = ATOMIC.get(f"{base.kind}{base.itemsize}")
            if base.names is not None:
                inner = self._record(group, base, types)
            elif base.kind == "S" and base.itemsize > 1:
                inner, shape = "char", (*shape, base.itemsize)
            if inner is None or (base.kind == "f" and base.itemsize == 2):
                return None
            fields[name] = (inner, *shape)
        return self._find_type(
            group, types, repr(dtype.descr), lambda: group.compound(f"compound_{len(types) + 1}", fields)
        )

    def _attribute(self, owner: Any, name: Hashable, value: Any) -> None:
        """Declare an attribute; values that netCDF lacks are JSON, as xarray writes them to Zarr."""
        dtype = getattr(value, "dtype", None)
        if getattr(value, "ndim", 0) > 1 or dtype == np.bool_:
            value = value.tolist()
        elif dtype == np.float16:
            value = value.astype(np.float32)
        is_list = isinstance(value, list | tuple)
        is_empty = is_list and not value
        if self._lists and is_list and len(value) < 2 and is_json(value):
            value, is_empty = JsonText(write_json(value)), False
        elif not is_empty and (isinstance(value, int) or is_json(value)) and not _has_type(value):
            value = JsonText(write_json(value))
        owner.attribute(name, value, type="double" if is_empty else None)


def _relative(path: str, top: str) -> str:
    """Return the path of a node below a subtree's root."""
    return path if top == "/" else "/" + path.removeprefix(top).lstrip("/")


def is_json(value: Any) -> bool:
    """Return whether a Python object is a JSON value of many values, or null."""
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_inner_json, value.values()))
    return value is None or (isinstance(value, list | tuple) and all(map(_is_inner_json, value)))


def _is_inner_json(value: Any) -> bool:
    return type(value) in (str, int, float, bool) or is_json(value)


def _has_type(value: Any) -> bool:
    """Return whether a JSON value is one of a netCDF type, or a list of such values."""
    items = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str | int | float) for item in items):
        return False
    try:
        infer(value)
    except UnsuitedValueError:
        return False
    return True


def _fill(fill: Any, dtype: Any) -> Any:
    """Return a fill value as one element; netCDF has single bytes as characters."""
    return bytes(np.bytes_(fill)).ljust(1, b"\0") if dtype.kind == "S" and dtype.itemsize == 1 else fill


def _plain(data: Any) -> Any:
    """Return values as the builder takes them: complex numbers as records, the rest unchanged."""
    if data.dtype.kind != "c":
        return data
    part = f"f{data.dtype.itemsize // 2}"
    dtype = np.dtype([("r", part), ("i", part)])
    if hasattr(data, "map_blocks"):
        return data.map_blocks(_records, dtype=dtype, meta=np.empty((0,) * data.ndim, dtype))
    return _records(np.asarray(data))


def _records(values: NDArray[Any]) -> NDArray[Any]:
    """Return complex numbers as records of two floats; the same shape and bytes."""
    part = f"<f{values.dtype.itemsize // 2}"
    whole = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    return whole.reshape(values.shape).view(np.dtype([("r", part), ("i", part)]))


def _round(data: Any, digits: int) -> Any:
    """Return floats rounded to a power of two below a number of decimal digits, as netCDF4-python rounds them."""
    exponent = np.log10(10.0**-digits)
    exponent = int(np.floor(exponent)) if exponent < 0 else int(np.ceil(exponent))
    scale = 2.0 ** np.ceil(np.log2(10.0**-exponent))
    return (np.around(scale * data) / scale).astype(data.dtype)
